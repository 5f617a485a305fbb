"""python -m assay_dashboards FOLDER [--out DIR] [--selftest FOLDER] [--before FOLDER]: writes the report of a run's
folder, of a selftest's or of a canary's.

    index.html, kernel-*.html   for people; open from disk, no network; of a selftest or a canary index.html alone
    junit.xml                   for job pages
    benchmark.json              for Google Benchmark's tools
    summary.md                  for a job page or a comment

--selftest shows a selftest in the run's page, --before an earlier selftest beside it.
The page's path is printed when the report is written. Exit code 0 then, whatever it says, but for a run that ended
and lacks records; 4, with one line, for that and when it could not be written.
"""

import sys
from pathlib import Path

from .benchmark_json import benchmark_json
from .canary import FILE as CANARY_FILE
from .canary import Canary, read_canary
from .canary_page import canary_pages
from .command import Parser, no_output, write_pages
from .junit import junit
from .load import load
from .pages import pages, selftest_pages
from .plain import InputError
from .selftest import FILE as SELFTEST_FILE
from .selftest import Selftest, read_selftest
from .summary import summary
from .view import View

_PAGES_OF_KERNELS = "kernel-*.html"  # of an earlier report in the same place


def write_report(view: View, out: Path, selftest: Selftest | None = None) -> Path:
    """Returns the page to open. Raises InputError."""
    files = {name: text.encode("utf-8") for name, text in pages(view, selftest).items()}
    files["junit.xml"] = junit(view)
    files["benchmark.json"] = benchmark_json(view).encode("utf-8")
    files["summary.md"] = summary(view).encode("utf-8")
    return write_pages(files, out, stale=_PAGES_OF_KERNELS)


def write_canary_report(canary: Canary, out: Path) -> Path:
    """Likewise."""
    return write_pages(
        {name: text.encode("utf-8") for name, text in canary_pages(canary).items()}, out, _PAGES_OF_KERNELS
    )


def write_selftest_report(selftest: Selftest, out: Path) -> Path:
    """Likewise."""
    return write_pages(
        {name: text.encode("utf-8") for name, text in selftest_pages(selftest).items()}, out, _PAGES_OF_KERNELS
    )


def _report(options):
    """Prints the page's path. Raises InputError, for a run that ended and lacks records after the report is written."""
    out = options.out or options.folder / "report"
    if (options.folder / CANARY_FILE).exists() and not (options.folder / "run.json").exists():
        if options.selftest or options.before:
            raise InputError(f"{options.folder}: is a canary, beside which no selftest is shown; leave the flag out")
        print(write_canary_report(read_canary(options.folder), out), flush=True)
        return
    if (options.folder / SELFTEST_FILE).exists() and not (options.folder / "run.json").exists():
        if options.selftest:
            raise InputError(f"--selftest: {options.folder} is a selftest itself; give a run's folder, or leave it out")
        print(write_selftest_report(read_selftest(options.folder, options.before), out), flush=True)
        return
    if options.before and not options.selftest:
        raise InputError("--before: no selftest to set it beside; give --selftest")
    selftest = read_selftest(options.selftest, options.before) if options.selftest else None
    view = View(load(options.folder))
    print(write_report(view, out, selftest), flush=True)
    if view.incomplete:
        raise InputError(f"{options.folder / 'records.jsonl'}: {view.incomplete}; run it again")


def main(arguments=None) -> int:
    parser = Parser(prog="assay_dashboards", description="Writes the report of a run, a selftest or a canary.")
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="of the run, the selftest or the canary")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where the report goes (default: FOLDER/report)")
    parser.add_argument("--selftest", type=Path, metavar="FOLDER", help="a selftest to show in the run's page")
    parser.add_argument("--before", type=Path, metavar="FOLDER", help="an earlier selftest to set beside it")
    options = parser.parse_args(arguments)
    try:
        _report(options)
    except InputError as error:
        print(error, file=sys.stderr)
        return 4
    except OSError as error:
        print(no_output(error), file=sys.stderr)
        return 4
    return 0


if __name__ == "__main__":
    sys.exit(main())
