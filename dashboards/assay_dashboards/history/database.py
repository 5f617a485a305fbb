"""The history's database: its tables, how it is opened, and one line for whatever is wrong with it. SQLite in a file,
or PostgreSQL by URL, by the same statements."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import (
    Column,
    Connection,
    Double,
    Engine,
    ForeignKey,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    create_engine,
    delete,
    event,
    insert,
    inspect,
    select,
    update,
)
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from ..command import refused
from ..plain import InputError, plain, shortened

# Of the tables below; a program refuses those of a later one. In 1 identities told no machines apart, and epochs not
# all processors.
VERSION = 2
_SECONDS = 30  # that a connection and a lock are waited for
_LOCK = 1634955641  # of the history's writers; any number that nobody else takes
_DRIVERS = {"sqlite": "sqlite+pysqlite", "postgresql": "postgresql+psycopg"}

metadata = MetaData()
version = Table("history_version", metadata, Column("version", Integer, nullable=False))  # one row

# A run that was imported. `identity` tells it from others as long as it grows, `content` what of it is here.
run = Table(
    "history_run",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("identity", String(64), nullable=False, unique=True),
    Column("content", String(64), nullable=False),
    Column("records", Integer, nullable=False),
    Column("started", String(20), nullable=False),  # RFC 3339 in UTC, which sorts
    Column("tier", Text, nullable=False),
    Column("commit", Text, nullable=False),  # empty: the run does not say
)
# What a latency depends on besides the kernel: facts of the machine and libraries as a JSON object of texts.
epoch = Table(
    "history_epoch",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("key", String(64), nullable=False, unique=True),  # SHA-256 of the facts
    Column("facts", Text, nullable=False),
)
# What is compared with itself over time. Texts of any length: `key` is the SHA-256 of the others.
series = Table(
    "history_series",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("key", String(64), nullable=False, unique=True),
    Column("kernel_id", Text, nullable=False),  # op/kernel:fields
    Column("metric", Text, nullable=False),
    Column("target", Text, nullable=False),
    Column("device", Text, nullable=False),  # model of the GPU or CPU
    Column("unit", Text, nullable=False),  # UUID of the GPU; instruction sets of the CPU, and threads
)
# A latency summary of a run, microseconds; NULL where it was not a finite number. `reference_us` is the p50 of the same
# case of the build that was the base of the run's latency gate, in the same session, by the gate's estimate of their
# ratio; which build that was is one of the epoch's facts.
point = Table(
    "history_point",
    metadata,
    Column("series", ForeignKey(series.c.id), primary_key=True),
    Column("run", ForeignKey(run.c.id), primary_key=True),
    Column("epoch", ForeignKey(epoch.c.id), nullable=False),
    Column("p50_us", Double),
    Column("p90_us", Double),
    Column("p99_us", Double),
    Column("tail_mass", Double),
    Column("reference_us", Double),
    Column("verdict", Text, nullable=False),
    Column("module_hash", Text, nullable=False),
    sqlite_with_rowid=False,
)


def default_url(root: Path) -> str:
    return URL.create("sqlite", database=str(root / "runs" / "history.sqlite")).render_as_string()


class Database:
    """`url` is what the caller gave; errors show it without its password."""

    def __init__(self, url: str):
        self.name, self._engine = _engine_of(url)
        self._file = Path(self._engine.url.database) if self._engine.dialect.name == "sqlite" else None

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that no other writer is in: it is kept whole, or nothing of it. Makes the tables where there
        is nothing yet, and brings those of an earlier schema to this one. Raises InputError."""
        self._make_folder()
        with self._told(), self._engine.execution_options(writes=True).begin() as connection:
            found = self._version_of(connection)
            if not found:
                metadata.create_all(connection)
                connection.execute(insert(version).values(version=VERSION))
            elif found < VERSION:
                _upgrade(connection)
            yield connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one state throughout. Raises InputError, also where no history is."""
        with self._told():
            if self._file and not self._file.exists():
                raise self._refusal("is not there", "'assay history import RUN' makes it")
            with self._engine.execution_options(isolation_level="SERIALIZABLE").begin() as connection:
                if not self._version_of(connection):
                    raise self._refusal("holds no history yet", "'assay history import RUN' makes one")
                yield connection

    @contextmanager
    def making_sense(self):
        """Around what reads values: those that are none of theirs are told as damage. Raises InputError."""
        try:
            yield
        except (ValueError, TypeError, LookupError) as error:
            what = f"is damaged: {shortened(plain(str(error)), 200)}"
            raise self._refusal(what, "import the runs again, into another") from None

    def _make_folder(self):
        try:
            if self._file:
                self._file.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise refused(self._file.parent, error) from None

    def _version_of(self, connection):
        """0 where there is nothing yet."""
        tables = set(inspect(connection).get_table_names())
        if version.name not in tables:
            if tables:
                raise self._refusal("holds tables of something else", "give a database of its own")
            return 0
        versions = connection.execute(select(version.c.version)).scalars().all()
        known = len(versions) == 1 and isinstance(versions[0], int) and versions[0] > 0
        if not known or not set(metadata.tables) <= tables:
            raise self._refusal("is damaged, or no history of Assay", "give another one, and import the runs again")
        if versions[0] > VERSION:
            raise self._refusal(f"schema {versions[0]} cannot be read by this program ({VERSION})", "use a newer assay")
        return versions[0]

    @contextmanager
    def _told(self):
        try:
            yield
        except SQLAlchemyError as error:
            said = plain(str(getattr(error, "orig", None) or error).partition("\n")[0])
            if "locked" in said or "lock timeout" in said:
                raise self._refusal("another process is writing it", "wait for it, then run this again") from None
            raise self._refusal(f"cannot be used: {shortened(said, 300)}", "mend it, or give another --db") from None

    def _refusal(self, what, remedy):
        return InputError(f"{self.name}: {what}; {remedy}")


def _upgrade(connection):
    """Runs stay as they are until they are imported again, which then reads them anew (importing.py); those without a
    record can never be found again."""
    connection.execute(delete(run).where(run.c.records == 0))
    connection.execute(update(run).values(content=""))
    connection.execute(update(version).values(version=VERSION))


def _engine_of(url: str) -> tuple[str, Engine]:
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise InputError(f"--db {_without_password(url)}: no URL; write sqlite:///FILE or postgresql://...") from None
    hidden = parsed.update_query_dict({"password": "***"}) if "password" in parsed.query else parsed
    name = plain(hidden.render_as_string(hide_password=True))
    system = parsed.drivername
    if system not in _DRIVERS:
        raise InputError(f"--db {name}: neither sqlite:///FILE nor postgresql://...; those two are known")
    parsed = parsed.set(drivername=_DRIVERS[system])
    if system == "sqlite":
        if parsed.database in (None, "", ":memory:") or parsed.query:
            raise InputError(f"--db {name}: names no file; write sqlite:///FILE")
        engine = create_engine(parsed, connect_args={"timeout": _SECONDS})
        event.listen(engine, "connect", _leave_transactions_to_us)
    else:
        engine = create_engine(parsed, connect_args={"connect_timeout": _SECONDS})
    event.listen(engine, "begin", _begin)
    return name, engine


def _begin(connection):
    """A writer has the database's lock before it reads, so that what it saw holds until it is done."""
    writes = connection.get_execution_options().get("writes", False)
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
    else:
        connection.exec_driver_sql(f"SET lock_timeout = '{_SECONDS}s'")
        if writes:
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")


def _leave_transactions_to_us(connection, _):
    connection.isolation_level = None  # the driver's own leave the making of tables out of the transaction


def _without_password(url):
    """Of what could not be parsed: nothing that may be one."""
    return plain(url.partition("://")[0]) + "://..." if "://" in url else plain(url)
