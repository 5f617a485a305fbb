"""mutants/shrink.py with an assay that answers what it is told to."""

import json
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "mutants"))
import shrink
from build import Problem, read_faults, sampled

SMALL = {
    "output_elements": 1,
    "seconds": 2.0,
    "verdict": "wrong",
    "kernel_id": "a/b:m=1",
    "not_shown": "",
    "no_bundle": "large",
}


def folder_of(tmp_path, answers):
    """A build folder whose assay answers for a fault's module: a document, or the text of an error."""
    program = tmp_path / "bin" / "assay"
    program.parent.mkdir()
    program.write_text(
        f"#!{sys.executable}\nimport json, pathlib, sys\n"
        f"answer = json.loads({json.dumps(json.dumps(answers))})[pathlib.Path(sys.argv[4]).stem]\n"
        "if isinstance(answer, str): sys.exit(answer)\n"
        "print(json.dumps(answer))\n"
    )
    os.chmod(program, 0o755)
    (tmp_path / "mutants").mkdir()
    faults = [
        {"name": name, "module": "whole", "witness": "a/b:m=9", "target": "cpu"}
        for name in answers
        if name != "elsewhere"
    ]
    faults.append({"name": "elsewhere", "module": "whole", "witness": "a/c:m=9", "target": "cuda"})
    (tmp_path / "mutants" / "faults.json").write_text(json.dumps({"whole": True, "faults": faults}))
    return ["--build", str(tmp_path)]


def test_those_of_the_other_target_are_asked_on_its_device(tmp_path, capsys):
    build = folder_of(tmp_path, {"here": SMALL | {"bundle": ""}, "elsewhere": SMALL | {"bundle": ""}})
    assert shrink.main([*build, "--target", "cuda", "--jobs", "2"]) == 0
    said = capsys.readouterr().out
    assert "elsewhere\t1 elements" in said
    assert "here\t1 elements" not in said.replace("elsewhere", "")
    assert "at most 64 output elements: 1 of 1 " in said


def test_small_and_quick_ones_are_counted_and_ninety_percent_are_enough(tmp_path, capsys):
    answers = {f"f{i}": SMALL | {"bundle": ""} for i in range(9)}
    answers["wide"] = SMALL | {"output_elements": 65, "bundle": ""}
    assert shrink.main(folder_of(tmp_path, answers)) == 0
    said = capsys.readouterr().out
    assert "at most 64 output elements: 9 of 10 (90 %)" in said
    assert "in at most 60 s: 10 of 10 (100 %); both: 9 of 10 (90 %)" in said
    assert "elsewhere" not in said


@pytest.mark.parametrize("spoilt", [{"output_elements": 65}, {"seconds": 60.5}])
def test_fewer_are_exit_1(tmp_path, spoilt):
    answers = {"small": SMALL | {"bundle": ""}, "spoilt": SMALL | {"bundle": ""} | spoilt}
    assert shrink.main(folder_of(tmp_path, answers)) == 1


def test_a_sample_is_of_all_faults_whichever_were_made(tmp_path, capsys):
    of_part = [fault.name for fault in sampled([one for one in read_faults() if one.target == "cpu"], "2/8")]
    build = folder_of(tmp_path, {name: SMALL | {"bundle": ""} for name in of_part})
    assert shrink.main([*build, "--sample", "2/8"]) == 0
    assert f"at most 64 output elements: {len(of_part)} of {len(of_part)} " in capsys.readouterr().out
    with pytest.raises(Problem, match="none of the cpu faults asked for"):
        shrink.main([*build, "--sample", "1/8"])


def test_what_cannot_be_shrunk_is_named_and_counted(tmp_path, capsys):
    answers = {"small": SMALL | {"bundle": ""}, "sound": "assay: shrink: a/b:m=9 does not fail: pass"}
    assert shrink.main(folder_of(tmp_path, answers)) == 0
    said = capsys.readouterr().out
    assert "sound\texit 1: assay: shrink: a/b:m=9 does not fail: pass" in said
    assert "not shrunk, for the reasons above: 1" in said
    with pytest.raises(Problem, match="no fault could be shrunk"):
        shrink.main([*["--build", str(tmp_path)], "sound"])


def test_a_bundle_is_built_and_run_where_modules_find_their_libraries(tmp_path):
    build, bundle = tmp_path / "build", tmp_path
    build.mkdir()
    (bundle / "repro.cpp").write_text(
        "#include <cstdlib>\n#include <string>\n"
        "int main(int, char** a) {\n"
        '  const char* path = std::getenv("LD_LIBRARY_PATH");\n'
        '  if (path == nullptr || std::string(path).rfind("/one:/two", 0) != 0) return 2;\n'
        "  return a[1][0] == 'f';\n}"
    )
    asked = (bundle, "cpu", Path("fault.so"), Path("sound.so"))
    assert shrink.shown_by(*asked, shrink.with_libraries(build)) == "exit 2, 2"
    (build / "library_path.txt").write_text("/one\n/two\n")
    assert shrink.shown_by(*asked, shrink.with_libraries(build)) == "exit 1, 0"
    (bundle / "repro.cpp").write_text("int main() {")
    assert shrink.shown_by(*asked, shrink.with_libraries(build)) == "repro.cpp does not compile"


def test_no_faults_is_one_line(tmp_path):
    with pytest.raises(Problem, match=r"faults.json: .*build.py --target cpu makes it"):
        shrink.main(["--build", str(tmp_path)])
