"""For pytest (.pytest.ini): tests with a label of LABELS are skips with that reason, unless it gets --all, as ci/test
passes it on."""

import pytest

LABELS = {
    "slow": "takes minutes, or measures time",
    "statistical": "checks rates on many drawn samples",
    "network": "fetches from a distribution's mirror or PyPI",
}


def pytest_addoption(parser):
    parser.addoption("--all", action="store_true", help=f"run tests labelled {' or '.join(LABELS)} too")


def pytest_configure(config):
    for label, meaning in LABELS.items():
        config.addinivalue_line("markers", f"{label}: {meaning}")


def pytest_collection_modifyitems(config, items):
    for item in [] if config.getoption("--all") else items:
        for label in LABELS:
            if item.get_closest_marker(label):
                item.add_marker(pytest.mark.skip(reason=f"labelled {label}: --all runs it"))
