"""A history's database that cannot be used is one line with its remedy and exit code 4, on SQLite and PostgreSQL."""

import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import Executable, text, update

from assay_dashboards.history import database
from assay_dashboards.history.__main__ import main
from assay_dashboards.history.database import VERSION, Database
from sample_history import write_night


@pytest.fixture
def night(tmp_path):
    return write_night(tmp_path / "night", 0, {"gemm/simd:m=1": 10.0})


def refusal(capsys, url, *arguments):
    """The line of `history ARGUMENTS`."""
    capsys.readouterr()
    assert main([*map(str, arguments), f"--db={url}"]) == 4
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return err


def execute(url, *statements):
    with Database(url)._engine.begin() as connection:
        for statement in statements:
            connection.execute(statement if isinstance(statement, Executable) else text(statement))


@pytest.mark.parametrize("command", ["import", "show"])
def test_a_newer_schema_is_refused(url, capsys, night, command):
    assert main(["import", str(night), f"--db={url}"]) == 0
    execute(url, update(database.version).values(version=VERSION + 1))
    arguments = [night] if command == "import" else []
    said = refusal(capsys, url, command, *arguments)
    assert f"schema {VERSION + 1} cannot be read by this program ({VERSION}); use a newer assay" in said


@pytest.mark.parametrize(
    ("statements", "says"),
    [
        (["CREATE TABLE accounts (id INTEGER)"], "holds tables of something else; give a database of its own"),
        (["CREATE TABLE history_version (version TEXT)"], "is damaged, or no history of Assay"),
        (["CREATE TABLE history_version (other INTEGER)"], "cannot be used: "),
        (
            ["CREATE TABLE history_version (version INTEGER)", "INSERT INTO history_version VALUES (1), (1)"],
            "is damaged, or no history of Assay",
        ),
        (
            ["CREATE TABLE history_version (version INTEGER)", "INSERT INTO history_version VALUES (1)"],
            "is damaged, or no history of Assay",
        ),
    ],
)
def test_what_is_not_ours_is_left_alone(url, capsys, night, statements, says):
    execute(url, *statements)
    for arguments in (["import", night], ["show"]):
        assert says in refusal(capsys, url, *arguments)


def test_where_there_is_no_history_show_makes_none(url, capsys, tmp_path):
    said = refusal(capsys, url, "show")
    assert "'assay history import RUN' makes " in said
    assert list(tmp_path.iterdir()) == []


def test_an_import_that_is_kept_waiting_says_so(url, capsys, night, monkeypatch):
    assert main(["import", str(night), f"--db={url}"]) == 0
    monkeypatch.setattr(database, "_SECONDS", 1)
    with Database(url).writing():
        said = refusal(capsys, url, "import", night)
    assert "another process is writing it; wait for it, then run this again" in said
    assert main(["import", str(night), f"--db={url}"]) == 0


def test_a_reader_is_not_kept_waiting_by_an_import(url, tmp_path, night, monkeypatch):
    assert main(["import", str(night), f"--db={url}"]) == 0
    monkeypatch.setattr(database, "_SECONDS", 1)
    with Database(url).writing():
        assert main(["show", f"--db={url}", f"--out={tmp_path / 'page'}"]) == 0


@pytest.mark.parametrize("content", [b"no database at all, but long enough to be looked at", b"SQLite format 3\0" * 70])
def test_a_file_that_is_no_database_is_refused(capsys, tmp_path, night, content):
    file = tmp_path / "h.sqlite"
    file.write_bytes(content)
    for arguments in (["import", night], ["show"]):
        assert "cannot be used: " in refusal(capsys, f"sqlite:///{file}", *arguments)
    assert file.read_bytes() == content


def test_a_file_cut_off_is_refused(capsys, tmp_path, night):
    file = tmp_path / "h.sqlite"
    assert main(["import", str(night), f"--db=sqlite:///{file}"]) == 0
    file.write_bytes(file.read_bytes()[:9000])
    assert "cannot be used: " in refusal(capsys, f"sqlite:///{file}", "show")


def test_a_folder_is_no_database(capsys, tmp_path, night):
    assert "unable to open database file" in refusal(capsys, f"sqlite:///{tmp_path}", "import", night)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("history.sqlite", "no URL; write sqlite:///FILE or postgresql://..."),
        ("://", "no URL"),
        ("postgresql://u:hunter2@host:port/x", "--db postgresql://...: no URL"),
        ("mysql://u:hunter2@host/x", "mysql://u:***@host/x: neither sqlite:///FILE nor postgresql://..."),
        ("postgresql+asyncpg://u:hunter2@host/x", "neither sqlite:///FILE nor"),
        ("sqlite://", "names no file"),
        ("sqlite:///:memory:", "names no file"),
        ("sqlite:///file:x?mode=memory&uri=true", "names no file"),
        ("postgresql://u@localhost:1/x?password=hunter2", "cannot be used: "),
        ("postgresql://u:hunter2@localhost:1/x", "postgresql://u:***@localhost:1/x: cannot be used: "),
    ],
)
def test_a_url_that_leads_nowhere_is_refused_without_its_password(capsys, night, url, says):
    said = refusal(capsys, url, "import", night)
    assert says in said
    assert "hunter2" not in said


def test_without_a_url_the_history_is_a_file_in_runs(tmp_path, night):
    root = tmp_path / "a root with ? and % and #"
    assert main(["import", str(night), f"--root={root}"]) == 0
    assert sqlite3.connect(root / "runs" / "history.sqlite").execute("SELECT * FROM history_version").fetchall()
    assert main(["show", f"--root={root}"]) == 0
    assert (root / "runs" / "history" / "history.html").exists()


def test_a_place_that_cannot_be_written_is_refused(capsys, tmp_path, night):
    (tmp_path / "file").write_text("")
    assert "make it writable" in refusal(capsys, f"sqlite:///{tmp_path / 'file' / 'h.sqlite'}", "import", night)
    assert main(["import", str(night), f"--db=sqlite:///{tmp_path / 'h.sqlite'}"]) == 0
    said = refusal(capsys, f"sqlite:///{tmp_path / 'h.sqlite'}", "show", f"--out={tmp_path / 'file'}")
    assert "make it writable" in said


@pytest.mark.parametrize("arguments", [[], ["import"], ["shwo"], ["show", "--kernle", "x"]])
def test_wrong_arguments_are_exit_4(capsys, arguments):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 4
    assert Path("runs").exists() is False or not (Path("runs") / "history.sqlite").exists()
