"""README.md's tables are what the program prints, golden/contracts.txt what the kernels promise, and the matrix of
invariances what dashboards/runs keeps of them. `python ci/tests/test_readme.py` writes them anew.

Do so where there is a CUDA compiler: the table of kernels lists those for CUDA too."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ASSAY = ROOT / "build" / "bin" / "assay"
MARKED = re.compile(r"(<!-- (\w+): build/bin/assay list --\2 -->\n)(.*?)(<!-- end of \2 -->)", re.DOTALL)
MATRIX = re.compile(r"(<!-- invariances: dashboards/runs -->\n)(.*?)(<!-- end of invariances -->)", re.DOTALL)
CONTRACT = re.compile(r"^\| (?P<kernel>\S+) \| (?P<target>cpu|cuda) \|.*$", re.MULTILINE)
KEPT = {"cpu": "invariances-cpu.md", "cuda": "invariances-nvidia-h200.md"}  # by target
CELL = re.compile(  # what `assay report RUN --invariances` writes into one
    r"(?P<partly>promised \d+, observed \d+)|(?P<promised>promised \d+)|(?P<observed>observed \d+)"
    r"|(?P<varies>varies \d+ of \d+)|(?P<broken>\*\*broken\*\* \d+ of \d+)|(?P<unknown>)"
)
SYMBOLS = {"promised": "●", "partly": "◐", "observed": "○", "varies": "≈", "broken": "✗", "unknown": ""}
TABLE_OF_PLAIN = """
extern "C" ASSAY_EXPORT const assay_module_table* assay_module(void) {
  static const assay_kernel* const kernels[] = {assay_kernel_softmax_plain()};
  static const assay_module_table table = {ASSAY_ABI_VERSION, sizeof(assay_kernel), "plain", 1, kernels};
  return &table;
}
"""
WORKSPACE = re.compile(r"^\| (?P<kernel>\S+) \|.*\| (?P<bytes>\d+) bytes at most[^|]*\|[^|]*\|$", re.MULTILINE)


def listing(table: str) -> str:
    text = subprocess.run([ASSAY, "list", f"--{table}"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return text if text.startswith("|") else f"```\n{text}```\n"


def rendered(readme: str) -> str:
    readme = MARKED.sub(lambda found: found[1] + listing(found[2]) + found[4], readme)
    return MATRIX.sub(lambda found: found[1] + matrix(listing("contracts"), kept()) + found[3], readme)


def seen(table: str) -> dict[str, dict[str, str]]:
    """Kernel -> property -> word of SYMBOLS, of a table that `assay report RUN --invariances` printed."""
    lines = [line.strip("|").split("|") for line in table.splitlines() if line.startswith("|")]
    (_, *properties), _, *rows = [[cell.strip() for cell in line] for line in lines]
    kernels = {}
    for kernel, *cells in rows:
        found = [CELL.fullmatch(cell) for cell in cells]
        if None in found or len(found) != len(properties):
            raise ValueError(f"{kernel}: no row of `assay report RUN --invariances`")
        kernels[kernel] = {name: one.lastgroup for name, one in zip(properties, found, strict=True)}
    return kernels


def kept() -> dict[str, dict[str, dict[str, str]]]:
    return {target: seen((ROOT / "dashboards/runs" / file).read_text()) for target, file in KEPT.items()}


def matrix(contracts: str, of_target: dict) -> str:
    """A row a kernel of the table of contracts; one that was not judged has empty cells."""
    properties = list(dict.fromkeys(p for kernels in of_target.values() for row in kernels.values() for p in row))
    text = "| kernel | target |" + "".join(f" {name.removeprefix('same-')} |" for name in properties) + "\n"
    text += "| --- | --- |" + " :-: |" * len(properties) + "\n"
    for found in CONTRACT.finditer(contracts):
        row = of_target[found["target"]].get(found["kernel"], {})
        cells = (SYMBOLS[row.get(name, "unknown")] for name in properties)
        text += f"| {found['kernel']} | {found['target']} |" + "".join(f" {cell} |" for cell in cells) + "\n"
    return text


def contradictions(contracts: str, of_target: dict) -> list[str]:
    """What a contract promises now and the kept table calls something else: it was made before the contract changed."""
    lines = []
    for found in CONTRACT.finditer(contracts):
        promises = set(re.findall(r"same-\w+", found[0]))
        row = of_target[found["target"]].get(found["kernel"], {})
        lines += [
            f"{found['kernel']} {name}: {word}"
            for name, word in row.items()
            if name in promises and word not in ("promised", "broken", "unknown")  # broken: promised then, too
        ]
    return lines


def without_cuda(readme: str) -> str:
    return re.sub(r"^\|[^|]*\| cuda \|.*\n", "", readme, flags=re.MULTILINE)


def workspaces_above(contracts: str, most: int) -> list[str]:
    return [found["kernel"] for found in WORKSPACE.finditer(contracts) if int(found["bytes"]) > most]


def test_tables_are_fresh():
    readme = (ROOT / "README.md").read_text()
    if "| cuda |" not in listing("contracts"):  # built without a CUDA compiler: its kernels are not there to be asked
        readme = without_cuda(readme)
    assert [found[1] for found in MARKED.findall(readme)] == ["verdicts", "checks", "contracts"]
    assert MATRIX.search(readme)
    assert readme == rendered(readme), "README.md is stale; run: python ci/tests/test_readme.py"


def test_what_the_gate_compares_contracts_with_is_fresh():
    verified = subprocess.run([ASSAY, "golden", "verify", "--contracts"], cwd=ROOT, capture_output=True, text=True)
    assert verified.returncode == 0, "run: build/bin/assay golden update --contracts\n" + verified.stdout


def test_what_was_seen_of_the_kernels_is_told_of_every_one_and_fits_its_contract():
    contracts, of_target = listing("contracts"), kept()
    listed = {found["kernel"] for found in CONTRACT.finditer(contracts)}
    rows = re.findall(r"^\| (\S+/\S+) \|", matrix(contracts, of_target), re.MULTILINE)
    assert set(rows) == listed
    assert all(len(row) >= 15 for kernels in of_target.values() for row in kernels.values())
    assert contradictions(contracts, of_target) == [], "make dashboards/runs/invariances-*.md anew"
    assert not set(of_target["cpu"]) - listed, "kernels that are no more"


def test_each_word_of_the_matrix_has_its_symbol():
    table = (
        "| kernel | same-run | same-load | same-batch | scaling | same-graph | same-threads |\n| --- |\n"
        "| a/b | promised 4 | observed 3 | varies 1 of 3 | **broken** 1 of 2 |  | promised 7, observed 2 |\n"
    )
    contracts = "| a/b | cpu | f32 | x | same-run | none | y |\n| a/new | cpu | f32 | x | same-run | none | y |\n"
    assert matrix(contracts, {"cpu": seen(table)}).splitlines() == [
        "| kernel | target | run | load | batch | scaling | graph | threads |",
        "| --- | --- | :-: | :-: | :-: | :-: | :-: | :-: |",
        "| a/b | cpu | ● | ○ | ≈ | ✗ |  | ◐ |",
        "| a/new | cpu |  |  |  |  |  |  |",
    ]
    with pytest.raises(ValueError, match="a/b: no row of"):
        seen(table.replace("promised 4", "held 4"))


def test_a_promise_made_after_the_matrix_is_noticed():
    of_target = {"cpu": {"a/b": {"same-run": "promised", "same-load": "observed", "same-batch": "unknown"}}}
    contracts = "| a/b | cpu | f32 | x | same-run, same-load, same-batch | none | y |\n"
    assert contradictions(contracts, of_target) == ["a/b same-load: observed"]


def test_rows_of_cuda_kernels_are_told_apart():
    assert without_cuda("| gemm/simt | cuda | a |\n| gemm/simd | cpu | cuda |\n") == "| gemm/simd | cpu | cuda |\n"


def test_a_stale_table_is_noticed():
    stale = "<!-- verdicts: build/bin/assay list --verdicts -->\n| old |\n<!-- end of verdicts -->"
    assert rendered(stale) != stale
    stale = "<!-- invariances: dashboards/runs -->\n| old |\n<!-- end of invariances -->"
    assert rendered(stale) != stale


def test_the_kernel_that_shows_how_to_add_one_passes(tmp_path):
    """Also where a row holds NaN, and within a weak bound, as README.md says."""
    example = re.compile(r"^`kernels/softmax/plain\.cpp`:\n```cpp\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    source, module, run = (tmp_path / name for name in ("plain.cpp", "plain.so", "run"))
    source.write_text(example.search((ROOT / "README.md").read_text())[1] + TABLE_OF_PLAIN)
    options = ["-std=c++20", "-O2", "-fPIC", "-shared", f"-I{ROOT / 'harness/core/include'}"]
    subprocess.run(["g++", *options, "-o", module, source], check=True)
    command = [ASSAY, "check", "--module", module, "--filter", "softmax/plain", "--root", ROOT, "--out", run]
    end = subprocess.run(command, capture_output=True, text=True)
    assert end.returncode == 0, end.stdout + end.stderr
    records = [json.loads(line) for line in (run / "records.jsonl").read_text().splitlines()]
    verdicts = {record["kernel_id"]: record["verdict"] for record in records}
    assert set(verdicts.values()) == {"pass", "unsupported"}
    assert verdicts["softmax/plain:rows=5,cols=64,dtype=f32,fill=nan_one"] == "pass"
    outcomes = {one["outcome"] for record in records for one in record["checks"] if one["check"] == "accuracy"}
    assert "weak" in outcomes


def refused(contracts: str) -> list[str]:
    """Kernels of which no case is judged, since their op does not allow their contract."""
    return [found["kernel"] for found in CONTRACT.finditer(contracts) if "| REFUSED: " in found[0]]


def test_no_contract_is_refused():  # without a GPU, no run says so of CUDA kernels
    assert refused(listing("contracts")) == []


def test_a_refused_contract_is_noticed():
    row = "| gemm/own | cuda | REFUSED: alignment 512 is not a power of two up to 256 | f32 | nothing | none | me |"
    assert refused(row + "\n" + row.replace("gemm/own", "gemm/other").replace("REFUSED: ", "")) == ["gemm/own"]


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
    sys.exit(subprocess.run([ASSAY, "golden", "update", "--contracts"], cwd=ROOT).returncode)
