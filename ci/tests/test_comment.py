"""What a stranger's run puts into a comment is inert and bounded; a plain table survives."""

import importlib.util
import re
from pathlib import Path

import pytest

spec = importlib.util.spec_from_file_location("comment", Path(__file__).resolve().parents[1] / "comment.py")
comment = importlib.util.module_from_spec(spec)
spec.loader.exec_module(comment)


@pytest.mark.parametrize(
    "hostile, forbidden",
    [
        ("<script>alert(1)</script>", "re:<[a-z/]"),
        ("<!-- assay gate --><IMG src=x><?x?>", r"re:<[A-Z!?]"),
        ("[click](https://evil.example)", "]("),
        ("![pixel](https://evil.example/x.png)", "]("),
        ("[a]: https://evil.example", "]:"),
        ("https://evil.example www.evil.example HTTP://x", r"re:(?i)(https?:|www\.)"),
        ("_https://evil.example 1https://evil.example \u00e9https://evil.example", "https:"),
        ("_www.evil.example 1ftp://evil.example _mailto:a", r"re:www\.|ftp:|mailto:"),
        ("@everyone @org/team", r"re:@\w"),
        ("#123 closes #4", r"re:#\d"),
        ("closes GH-12 and gh-3", r"re:(?i)gh-\d"),
        ("a\x1b[31m\x00b\u202ec\u2066", "re:[\x00-\x08\x1b\u202a-\u202e\u2066-\u2069]"),
        ("&lt;script&gt; &#60;script", r"re:&[a-z#]"),
    ],
)
def test_inert(hostile, forbidden):
    made = comment.inert(hostile)
    if forbidden.startswith("re:"):
        assert not re.search(forbidden[3:], made)
    else:
        assert forbidden not in made


def test_tables_and_headings_survive():
    table = "## Gate: pass\n\n| op | kernel | verdict |\n| --- | --- | --- |\n| gemm | `simd` | **pass** |\n"
    assert comment.inert(table) == table


def test_a_code_span_shows_what_was_written():
    span = "`n < 4 && m <= 8: a & b`"
    assert comment.inert(span) == span


def test_bounded_and_found_again():
    made = comment.comment("row & row\n" * 100_000)
    assert made.startswith(comment.MARKER + "\n")
    assert len(made) <= 65_536
    assert made.endswith("... cut: the whole run is in its artifact\n")
    one_line = comment.comment("&" * 200_000)
    assert len(one_line) <= 65_536


def test_reads_bytes_that_are_no_text(tmp_path, capsys):
    (tmp_path / "s.md").write_bytes(b"ok \xff\xfe\x00 end")
    comment.main(tmp_path / "s.md")
    assert capsys.readouterr().out == f"{comment.MARKER}\nok  end\n"
