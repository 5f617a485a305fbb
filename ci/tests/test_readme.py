"""README.md's tables are what the program prints. `python ci/tests/test_readme.py` writes them anew.

Do so where there is a CUDA compiler: the table of kernels lists those for CUDA too."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ASSAY = ROOT / "build" / "bin" / "assay"
MARKED = re.compile(r"(<!-- (\w+): build/bin/assay list --\2 -->\n)(.*?)(<!-- end of \2 -->)", re.DOTALL)
WORKSPACE = re.compile(r"^\| (?P<kernel>\S+) \|.*\| (?P<bytes>\d+) bytes at most[^|]*\|[^|]*\|$", re.MULTILINE)


def listing(table: str) -> str:
    text = subprocess.run([ASSAY, "list", f"--{table}"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return text if text.startswith("|") else f"```\n{text}```\n"


def rendered(readme: str) -> str:
    return MARKED.sub(lambda found: found[1] + listing(found[2]) + found[4], readme)


def without_cuda(readme: str) -> str:
    return re.sub(r"^\|[^|]*\| cuda \|.*\n", "", readme, flags=re.MULTILINE)


def workspaces_above(contracts: str, most: int) -> list[str]:
    return [found["kernel"] for found in WORKSPACE.finditer(contracts) if int(found["bytes"]) > most]


def test_tables_are_fresh():
    readme = (ROOT / "README.md").read_text()
    if "| cuda |" not in listing("contracts"):  # built without a CUDA compiler: its kernels are not there to be asked
        readme = without_cuda(readme)
    assert [found[1] for found in MARKED.findall(readme)] == ["verdicts", "checks", "contracts"]
    assert readme == rendered(readme), "README.md is stale; run: python ci/tests/test_readme.py"


def test_rows_of_cuda_kernels_are_told_apart():
    assert without_cuda("| gemm/simt | cuda | a |\n| gemm/simd | cpu | cuda |\n") == "| gemm/simd | cpu | cuda |\n"


def test_a_stale_table_is_noticed():
    stale = "<!-- verdicts: build/bin/assay list --verdicts -->\n| old |\n<!-- end of verdicts -->"
    assert rendered(stale) != stale


def test_workspaces_are_within_what_the_policy_allows():  # without a GPU, no run says so of CUDA kernels
    limits = tomllib.loads((ROOT / "ci/policy/policy.toml").read_text())["limits"]
    contracts = listing("contracts")
    assert WORKSPACE.search(contracts)
    assert workspaces_above(contracts, limits["workspace_bytes"]) == []


def test_a_larger_workspace_is_noticed():
    row = "| gemm/{} | cuda | a \\| b | f32 | same-run | {} | a@b |\n".format
    contracts = row("a", "4097 bytes at most, may fall back") + row("b", "4096 bytes at most") + row("c", "none")
    assert workspaces_above(contracts, 4096) == ["gemm/a"]


if __name__ == "__main__":
    path = ROOT / "README.md"
    path.write_text(rendered(path.read_text()))
    sys.exit(0)
