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


@pytest.fixture(scope="session")
def postgres_server():
    """Connection URL, to which a database's name is to be added, of a PostgreSQL server that ends with the tests."""
    from postgres_server import running_server

    with running_server() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    """Of a database of its own, in which nothing is yet."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'history.sqlite'}"
    from postgres_server import new_database

    return new_database(request.getfixturevalue("postgres_server"))
