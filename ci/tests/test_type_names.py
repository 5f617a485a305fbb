"""Two types of one name in one namespace are one type to the linker, whose functions it takes from either: no compiler
sees it, as long as no source includes both."""

import re
import subprocess
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
_OPENS = re.compile(r"(?:inline )?namespace ?([\w:]*) ?\{$")
_CLOSES = re.compile(r"\}  // namespace")
_TYPE = re.compile(r"(?:struct|class|enum class|enum|union) (\w+)(?: final)?(?: :.*)? \{")


def types_of(lines):
    """Those defined in named namespaces, with their namespace, of a source as clang-format lays it out."""
    inside, found = [], set()
    for line in lines:
        if opens := _OPENS.match(line.rstrip()):
            inside.append(opens[1])
        elif _CLOSES.match(line) and inside:
            inside.pop()
        elif (one := _TYPE.match(line)) and all(inside):
            found.add("::".join([*inside, one[1]]))
    return found


def test_no_two_files_define_a_type_of_one_name():
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", "*.h", "*.cuh", "*.cpp", "*.cu"]
    files = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    defined = defaultdict(list)
    for file in files:
        for name in types_of((ROOT / file).read_text("utf-8").splitlines()):
            defined[name].append(file)
    assert len(defined) > 300
    assert {name: where for name, where in defined.items() if len(where) > 1 and "::" in name} == {}


def test_a_type_is_that_of_its_namespace():
    source = """
struct Outside;
namespace a {
namespace {
struct Hidden {
}  // namespace
struct Run final : Base<int> {
enum class Kind : int { one };
class Later;
}  // namespace a
namespace a::b {
struct Run {
};
}  // namespace a::b
"""
    assert types_of(source.splitlines()) == {"a::Run", "a::Kind", "a::b::Run"}
