"""python -m assay_dashboards RUN [--out DIR]: writes the report of a run's folder.

    index.html, kernel-*.html   for people; open from disk, no network
    junit.xml                   for job pages
    benchmark.json              for Google Benchmark's tools
    summary.md                  for a job page or a comment

The page's path is printed when the report is written. Exit code 0 then, whatever it says, but for a run that ended
and lacks records; 4, with one line, for that and when it could not be written.
"""

import argparse
import contextlib
import errno
import os
import sys
from pathlib import Path

from .benchmark_json import benchmark_json
from .junit import junit
from .load import load
from .pages import pages
from .plain import InputError
from .summary import summary
from .view import View


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(4, f"{self.prog}: {message}\n")


def _refused(file, error: OSError) -> InputError:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    remedy = "free space on its disk" if full else "make it writable"
    return InputError(f"{file}: cannot be written: {error.strerror}; {remedy}")


def _replace(file: Path, content: bytes):
    part = file.with_name(file.name + ".part")
    try:
        part.write_bytes(content)
        os.replace(part, file)
    except OSError as error:
        # A full disk is refused without a file name, and half a page must not stay.
        with contextlib.suppress(OSError):
            part.unlink()
        raise _refused(file, error) from None


def write_report(view: View, out: Path) -> Path:
    """Returns the page to open. Raises InputError."""
    files = {name: text.encode("utf-8") for name, text in pages(view).items()}
    files["junit.xml"] = junit(view)
    files["benchmark.json"] = benchmark_json(view).encode("utf-8")
    files["summary.md"] = summary(view).encode("utf-8")
    try:
        out.mkdir(parents=True, exist_ok=True)
        for stale in out.glob("kernel-*.html"):
            if stale.name not in files:
                stale.unlink()
    except OSError as error:
        raise _refused(error.filename or out, error) from None
    for name, content in files.items():
        _replace(out / name, content)
    return out / "index.html"


def main(arguments=None) -> int:
    parser = _Parser(prog="assay_dashboards", description="Writes the report of a run's folder.")
    parser.add_argument("run", type=Path, metavar="RUN", help="the run's folder")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where the report goes (default: RUN/report)")
    options = parser.parse_args(arguments)
    try:
        view = View(load(options.run))
        print(write_report(view, options.out or options.run / "report"), flush=True)
        if view.incomplete:
            raise InputError(f"{options.run / 'records.jsonl'}: {view.incomplete}; run it again")
    except InputError as error:
        print(error, file=sys.stderr)
        return 4
    except OSError as error:
        print(_refused(error.filename or "standard output", error), file=sys.stderr)
        return 4
    return 0


if __name__ == "__main__":
    sys.exit(main())
