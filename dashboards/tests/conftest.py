import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]


@pytest.fixture(scope="session")
def full_report(tmp_path_factory):
    """(run folder, report folder) of a run with something of everything."""
    from assay_dashboards.__main__ import write_report
    from assay_dashboards.load import load
    from assay_dashboards.view import View
    from sample_run import full_run

    run = full_run(tmp_path_factory.mktemp("run"))
    return run, write_report(View(load(run)), run / "report").parent
