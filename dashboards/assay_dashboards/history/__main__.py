"""python -m assay_dashboards.history import RUN... | show: keeps the latencies of runs in a database, and shows what
changed. `assay history` calls this.

Exit code 0 when all was imported, or the page is written, whatever it says; 4, with one line for each folder or the
database, for what cannot be read or written: everything else is imported all the same.
"""

import sys
from pathlib import Path

from ..command import Parser, no_output
from ..plain import InputError
from .database import Database, default_url
from .importing import import_runs


def _arguments(arguments):
    parser = Parser(prog="history", description="Keeps the latencies of runs, and watches them.")
    commands = parser.add_subparsers(dest="command", required=True)
    added = commands.add_parser("import", help="the latencies of these runs")
    added.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="folder of a run")
    added.add_argument(
        "--reference",
        action="store_true",
        help="the base of their latency gates is a pinned build: what is kept is relative to it",
    )
    shown = commands.add_parser("show", help="what changed: a table, and a page")
    shown.add_argument("--kernel", default="*", metavar="GLOB", help="op/kernel or a whole id, such as 'gemm/*'")
    shown.add_argument("--out", type=Path, metavar="DIR", help="where the page goes (default: runs/history)")
    for command in (added, shown):
        command.add_argument(
            "--db", metavar="URL", help="sqlite:///FILE (default: runs/history.sqlite) or postgresql://"
        )
        command.add_argument("--root", type=Path, default=Path(), metavar="DIR", help="of the tree that runs/ is in")
    return parser.parse_args(arguments)


def _complain(line):
    print(line, file=sys.stderr, flush=True)


def _import(options, database):
    count = import_runs(database, options.runs, options.reference, lambda line: print(line, flush=True), _complain)
    if count:
        raise InputError(f"{count} of {len(options.runs)} runs could not be read; the others are in {database.name}")


def _show(options, database):
    from .page import write_history  # drawing takes long to load

    print(write_history(database, options.kernel, options.out or options.root / "runs" / "history"), flush=True)


def main(arguments=None) -> int:
    options = _arguments(arguments)
    try:
        database = Database(options.db or default_url(options.root))
        (_import if options.command == "import" else _show)(options, database)
    except InputError as error:
        _complain(str(error))
        return 4
    except OSError as error:
        _complain(str(no_output(error)))
        return 4
    return 0


if __name__ == "__main__":
    sys.exit(main())
