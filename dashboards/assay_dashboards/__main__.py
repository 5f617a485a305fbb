"""python -m assay_dashboards RUN [--out DIR]: writes the report of a run's folder.

    index.html, kernel-*.html   for people; open from disk, no network
    junit.xml                   for job pages
    benchmark.json              for Google Benchmark's tools
    summary.md                  for a job page or a comment

Exit code 0 when the report is written, whatever it says; 4, with one line, when it could not be.
"""

import argparse
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


def write_report(run: Path, out: Path) -> Path:
    """Returns the page to open. Raises InputError or OSError."""
    view = View(load(run))
    files = {name: text.encode("utf-8") for name, text in pages(view).items()}
    files["junit.xml"] = junit(view)
    files["benchmark.json"] = benchmark_json(view).encode("utf-8")
    files["summary.md"] = summary(view).encode("utf-8")
    out.mkdir(parents=True, exist_ok=True)
    for stale in out.glob("kernel-*.html"):
        if stale.name not in files:
            stale.unlink()
    for name, content in files.items():
        part = out / (name + ".part")
        part.write_bytes(content)
        os.replace(part, out / name)
    return out / "index.html"


def main(arguments=None) -> int:
    parser = _Parser(prog="assay_dashboards", description="Writes the report of a run's folder.")
    parser.add_argument("run", type=Path, metavar="RUN", help="the run's folder")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where the report goes (default: RUN/report)")
    options = parser.parse_args(arguments)
    try:
        print(write_report(options.run, options.out or options.run / "report"))
    except InputError as error:
        print(error, file=sys.stderr)
        return 4
    except OSError as error:
        print(f"{error.filename}: cannot be written: {error.strerror}; choose another --out", file=sys.stderr)
        return 4
    return 0


if __name__ == "__main__":
    sys.exit(main())
