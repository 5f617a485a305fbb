"""Imports runs: read in parallel, each written in a transaction of its own, so that an import that is killed leaves
every run as it was or as it is now."""

import ctypes
import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from sqlalchemy import delete, insert, select, update

from ..plain import InputError
from .database import Database, epoch, point, run, series
from .runs import RunPoints, identity_of, read_points

_AT_ONCE = 500  # keys that one query asks for


def import_runs(database: Database, folders: list[Path], reference: bool, tell: Callable, complain: Callable) -> int:
    """Imports those that the history has not, or has in an earlier state; with `reference` relative to the base of
    their latency gates, a pinned build. Calls tell(line) for each, or
    complain(line) for one that cannot be read, and returns how many those were. Raises InputError when the database
    cannot be used; what was imported before that stays."""
    with database.writing() as connection:
        known = dict(connection.execute(select(run.c.identity, run.c.content)).all())
    ids = {series: {}, epoch: {}}
    refused = 0
    for folder, outcome in _read(folders, reference, known):
        if isinstance(outcome, InputError):
            refused += 1
            complain(str(outcome))
        else:
            tell(f"{folder}: {_keep(database, outcome, ids) if outcome else 'is in the history already'}")
    return refused


def _read(folders, reference, known) -> Iterator[tuple[Path, RunPoints | InputError | None]]:
    """Each folder, in order, with its points, or why they cannot be read, or None where the history has them."""
    workers = min(len(folders), os.cpu_count() or 1)
    with _readers(workers) as readers:
        waiting = deque()
        for folder in folders:
            is_known = _is_known(folder, reference, known)
            waiting.append((folder, None if is_known else readers.submit(_points_of, folder, reference)))
            if len(waiting) > 2 * workers:  # no further ahead than that, for the memory's sake
                yield _first_of(waiting)
        while waiting:
            yield _first_of(waiting)


def _readers(workers):
    if workers == 1:
        return ThreadPoolExecutor(1)
    # Not forked: a child must not hold this process's connection to a database.
    return ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _end_with, (os.getpid(),))


def _end_with(parent):
    """However that ends: a reader would wait for ever."""
    pr_set_pdeathsig = 1  # linux/prctl.h
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)
    if os.getppid() != parent:  # it has ended before that
        os._exit(1)


def _is_known(folder, reference, known):
    try:
        identity, _, _, known_as, *_ = identity_of(folder, reference)
    except InputError:
        return False  # its reader says why
    return known.get(identity) in known_as


def _points_of(folder, reference):
    try:
        return read_points(folder, reference)
    except InputError as error:
        return error


def _first_of(waiting):
    folder, reader = waiting.popleft()
    try:
        return folder, reader.result() if reader else None
    except BrokenProcessPool:
        raise InputError(f"{folder}: the process that read it was killed; free memory, then run this again") from None


def _keep(database, found: RunPoints, ids) -> str:
    """Returns what became of it. `ids`: table -> {key: id} of what is known to be there."""
    if not found.records:
        return "has no record yet, which is what tells it from other runs; nothing of it is kept"
    columns = {key: getattr(found, key) for key in ("identity", "content", "records", "started", "tier", "commit")}
    said = f"{len(found.points)} points of {found.records} records"
    new = {}
    with database.writing() as connection:
        there = connection.execute(select(run).where(run.c.identity.in_((found.identity, found.former)))).first()
        if there and there.content in found.known_as:
            return "is in the history already"
        if there and there.records > found.records:
            return f"the history has it with more records, {there.records} instead of {found.records}; nothing changed"
        if there:
            connection.execute(delete(point).where(point.c.run == there.id))
            connection.execute(update(run).where(run.c.id == there.id).values(columns))
            run_id, said = there.id, f"{said}, in place of its earlier state"
        else:
            run_id = connection.execute(insert(run).values(columns)).inserted_primary_key[0]
        for table, rows in ((series, found.series), (epoch, found.epochs)):
            new[table] = _ids_of(connection, table, rows, ids[table])
        rows = [
            values | {"run": run_id, "series": new[series][values["series"]], "epoch": new[epoch][values["epoch"]]}
            for values in found.points
        ]
        if rows:
            connection.execute(insert(point), rows)
    for table, found_ids in new.items():  # only now are they there for good
        ids[table].update(found_ids)
    return said


def _ids_of(connection, table, rows, known):
    """Key -> id for every key of `rows`; those that the table lacks are put in."""
    found = {key: known[key] for key in rows if key in known}
    asked = [key for key in rows if key not in found]
    for start in range(0, len(asked), _AT_ONCE):
        query = select(table.c.key, table.c.id).where(table.c.key.in_(asked[start : start + _AT_ONCE]))
        found.update(connection.execute(query).all())
    lacking = [{"key": key} | rows[key] for key in asked if key not in found]
    if lacking:
        returned = connection.execute(insert(table).returning(table.c.key, table.c.id), lacking)
        found.update(returned.all())
    return found
