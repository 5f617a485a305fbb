"""Lints .github/: schema, known weaknesses, pinned actions, least privilege, no expression inside a script.

Each of our own rules is a function from a parsed workflow to complaints, and has a sample that it complains about.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.y*ml"))
ACTIONS = sorted((ROOT / ".github/actions").glob("*/action.yml"))
# The only jobs that may write, and what. Adding one here is the review.
MAY_WRITE = {("comment.yml", "comment"): {"pull-requests"}}


def tool(name):
    return str(Path(sys.executable).parent / name)


def steps_of(document):
    for job in document.get("jobs", {}).values():
        yield from job.get("steps", [])
    yield from document.get("runs", {}).get("steps", [])


def unpinned(document, text):
    """Actions not pinned by commit, or without the version as a comment; images not pinned by digest."""
    for used in [step["uses"] for step in steps_of(document) if "uses" in step]:
        if used.startswith("./"):
            continue
        if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", used):
            yield f"{used}: not a commit"
        elif not re.search(re.escape(used) + r" # v\d+\.\d+\.\d+$", text, re.MULTILINE):
            yield f"{used}: its version is not in a comment"
    for job in document.get("jobs", {}).values():
        image = job.get("container", "")
        image = image.get("image", "") if isinstance(image, dict) else image
        if image and not re.search(r"@sha256:[0-9a-f]{64}$", image):
            yield f"{image}: not a digest"


def excess_permissions(document, file):
    """Permissions not stated for the workflow, or wider than reading, but for what MAY_WRITE lists."""
    stated = document.get("permissions")
    if not isinstance(stated, dict):
        yield "the workflow does not list its permissions"
        stated = {}
    scopes = [(None, stated)] + [(job, body.get("permissions", {})) for job, body in document["jobs"].items()]
    for job, permissions in scopes:
        if not isinstance(permissions, dict):
            yield f"{job}: {permissions}"
            continue
        for name, level in permissions.items():
            if level not in ("read", "none") and name not in MAY_WRITE.get((file, job), set()):
                yield f"{job}: {name}: {level}"


def expressions_in_scripts(document):
    """`${{ }}` in a script is pasted into it before the shell reads it; values go through env."""
    for step in steps_of(document):
        if "${{" in step.get("run", ""):
            yield step.get("name", step["run"])


def secrets(text):
    """Secrets other than the run's own token."""
    yield from re.findall(r"\bsecrets[.\[:]\S+|\bsecrets: .*", text)


def load(path):
    # "on" is a boolean in YAML 1.1
    document = yaml.safe_load(path.read_text())
    return {("on" if key is True else key): value for key, value in document.items()}


@pytest.mark.parametrize("path", WORKFLOWS + ACTIONS, ids=lambda path: path.parent.name + "/" + path.name)
def test_rules(path):
    document, text = load(path), path.read_text()
    complaints = [*unpinned(document, text), *expressions_in_scripts(document), *secrets(text)]
    if "jobs" in document:
        complaints += excess_permissions(document, path.name)
    assert complaints == []


def test_something_is_linted():
    assert len(WORKFLOWS) >= 2 and len(ACTIONS) >= 1


def test_a_change_runs_without_privilege():
    gate = load(ROOT / ".github/workflows/gate.yml")
    assert list(gate["on"]) == ["pull_request"]
    assert gate["permissions"] == {"contents": "read"}
    for path in WORKFLOWS:
        assert "pull_request_target" not in load(path)["on"]


def compiling_cuda(document):
    """Jobs that compile the CUDA code and fail where it does not compile."""
    for name, job in document["jobs"].items():
        for step in job["steps"]:
            bare = not ({"if", "continue-on-error"} & (job.keys() | step.keys()))
            if bare and step.get("run") == "ci/test --cuda":
                yield name


def test_cuda_code_is_compiled_for_every_pull_request():
    assert list(compiling_cuda(load(ROOT / ".github/workflows/gate.yml"))) == ["cuda"]


@pytest.mark.parametrize("excuse", ["if: false", "continue-on-error: true"])
def test_a_job_that_may_fail_does_not_compile_cuda(excuse):
    step = "run: ci/test --cuda"
    excused = [f"{{a: {{{excuse}, steps: [{{{step}}}]}}}}", f"{{a: {{steps: [{{{step}, {excuse}}}]}}}}"]
    assert [name for jobs in excused for name in compiling_cuda({"jobs": yaml.safe_load(jobs)})] == []


BAD = """
on: push
jobs:
  a:
    container: debian:12
    permissions: {contents: write}
    steps:
      - uses: actions/checkout@v4
      - uses: actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af683
      - name: pasted
        run: echo "${{ github.event.pull_request.title }}"
        env: {TOKEN: "${{ secrets.DEPLOY }}"}
"""


def test_rules_complain():
    document = yaml.safe_load(BAD)
    assert list(unpinned(document, BAD)) == [
        "actions/checkout@v4: not a commit",
        "actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af683: its version is not in a comment",
        "debian:12: not a digest",
    ]
    assert list(excess_permissions(document, "bad.yml")) == [
        "the workflow does not list its permissions",
        "a: contents: write",
    ]
    assert list(expressions_in_scripts(document)) == ["pasted"]
    assert list(secrets(BAD)) == ["secrets.DEPLOY"]


@pytest.mark.parametrize("schema, paths", [("github-workflows", WORKFLOWS), ("github-actions", ACTIONS)])
def test_schema(schema, paths, tmp_path):
    def lint(files):
        command = [tool("check-jsonschema"), "--builtin-schema", f"vendor.{schema}", *map(str, files)]
        return subprocess.run(command, capture_output=True, text=True)

    done = lint(paths)
    assert done.returncode == 0, done.stdout + done.stderr
    bad = tmp_path / "bad.yml"
    bad.write_text("on: pull_request\njobs: {a: {steps: []}}\n")
    assert lint([bad]).returncode != 0


def test_known_weaknesses(tmp_path):
    def lint(*inputs):
        command = [tool("zizmor"), "--offline", "--strict-collection", "--collect=all", "--no-progress", *inputs]
        return subprocess.run(command, capture_output=True, text=True)

    done = lint(str(ROOT / ".github"))
    assert done.returncode == 0, done.stdout + done.stderr
    bad = tmp_path / "bad.yml"
    bad.write_text(BAD.replace("    container", "    runs-on: ubuntu-24.04\n    container"))
    assert lint(str(bad)).returncode not in (0, 1, 2), "zizmor no longer complains"


def test_scripts_pass_shellcheck():
    scripts = [step["run"] for path in WORKFLOWS + ACTIONS for step in steps_of(load(path)) if "run" in step]
    assert scripts
    for script in scripts:
        script = "set -eo pipefail\n" + script  # as the runner starts a shell named bash
        done = subprocess.run(["shellcheck", "--shell=bash", "-"], input=script, capture_output=True, text=True)
        assert done.returncode == 0, script + done.stdout
