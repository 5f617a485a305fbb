"""Lints .github/: schema, known weaknesses, pinned actions, least privilege, no expression inside a script; what is
tested when; and what the action publishes.

Each of our own rules is a function from a parsed workflow to complaints, and has a sample that it complains about.
"""

import os
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


def running(document, command):
    """Jobs that run the command whenever the workflow runs and fail where it fails, each with the base it is given."""
    for name, job in document["jobs"].items():
        for step in job["steps"]:
            bare = not ({"if", "continue-on-error"} & (job.keys() | step.keys()))
            if bare and step.get("run") == command:
                yield name, step.get("env", {}).get("ASSAY_BASE")


def filters(document, event):
    """What narrows the event down to some of its kind: paths, branches, types."""
    return (document["on"][event] or {}).keys()


def test_every_pull_request_is_tested_and_its_cuda_code_compiled():
    gate = load(ROOT / ".github/workflows/gate.yml")
    assert filters(gate, "pull_request") == set()
    assert list(running(gate, "ci/test --cuda")) == [("cuda", None)]
    assert list(running(gate, "ci/test")) == [("test", "HEAD^1")]


def test_the_base_is_what_the_change_was_merged_into(tmp_path):
    steps = load(ROOT / ".github/workflows/gate.yml")["jobs"]["gate"]["steps"]
    checkouts = [step["with"] for step in steps if step.get("uses", "").startswith("actions/checkout@")]
    change, base = checkouts
    assert (change["path"], base["path"]) == ("change", "base")
    assert "ref" not in change, "the merge commit"
    assert base["ref"] == "${{ steps.merge.outputs.base }}"
    (script,) = [step["run"] for step in steps if step.get("id") == "merge"]

    def git(*arguments):
        who = ["-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false"]
        command = ["git", *who, *arguments]
        return subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    git("init", "-qb", "main", "origin")
    git("-C", "origin", "commit", "-qm", "the pull request begins here", "--allow-empty")
    git("-C", "origin", "switch", "-qc", "pull-request")
    git("-C", "origin", "commit", "-qm", "change", "--allow-empty")
    git("-C", "origin", "switch", "-q", "main")
    git("-C", "origin", "commit", "-qm", "the base moves on", "--allow-empty")
    git("-C", "origin", "merge", "-q", "--no-ff", "-m", "merge", "pull-request")
    git("clone", "-q", "--depth", str(change["fetch-depth"]), (tmp_path / "origin").as_uri(), "change")
    output = tmp_path / "output"
    environment = os.environ | {"GITHUB_OUTPUT": str(output)}
    subprocess.run(["bash", "-eo", "pipefail", "-c", script], cwd=tmp_path, env=environment, check=True)
    assert output.read_text() == f"base={git('-C', 'origin', 'rev-parse', 'main~1')}"


def test_a_cancelled_gate_is_not_commented_on():
    job = load(ROOT / ".github/workflows/comment.yml")["jobs"]["comment"]
    run = "github.event.workflow_run"
    assert job["if"].split(" && ") == [f"{run}.event == 'pull_request'", f"{run}.conclusion != 'cancelled'"]


def test_every_push_to_the_main_branch_is_tested_with_all_its_commits():
    main = load(ROOT / ".github/workflows/main.yml")
    assert main["on"] == {"push": {"branches": ["main"]}}
    assert list(running(main, "ci/test")) == [("test", "${{ github.event.before }}")]
    assert not [scope for scope in (main, *main["jobs"].values()) if "concurrency" in scope], "drops pushes that wait"


def test_every_file_is_tidied_by_the_clock():
    nightly = load(ROOT / ".github/workflows/nightly.yml")
    assert nightly["on"]["schedule"]
    assert list(running(nightly, "ci/test --all")) == [("test", None)]


@pytest.mark.parametrize("excuse", ["if: false", "continue-on-error: true"])
def test_a_job_that_may_fail_does_not_count(excuse):
    step = "run: ci/test --cuda"
    excused = [f"{{a: {{{excuse}, steps: [{{{step}}}]}}}}", f"{{a: {{steps: [{{{step}, {excuse}}}]}}}}"]
    assert [name for jobs in excused for name in running({"jobs": yaml.safe_load(jobs)}, "ci/test --cuda")] == []


@pytest.mark.parametrize(
    "narrowing", ["paths: [harness/**]", "paths-ignore: ['*.md']", "branches: [main]", "types: [opened]"]
)
def test_a_filter_is_noticed(narrowing):
    document = yaml.safe_load(f"{{'on': {{pull_request: {{{narrowing}}}}}}}")
    assert list(filters(document, "pull_request")) == [narrowing.split(":")[0]]


def text_of(file):
    return file.read_text() if file.exists() else ""


class Job:
    """The step of the action that runs the gate, as a runner would start it, on a checkout whose gate is a script."""

    def __init__(self, folder, gate, **inputs):
        checkout = folder / "change"
        (checkout / "ci").mkdir(parents=True)
        (checkout / "ci/gate").write_text("#!/bin/bash\n" + gate)
        (checkout / "ci/gate").chmod(0o755)
        for run in ["older", "new"]:
            (checkout / f"runs/{run}/report").mkdir(parents=True)
            (checkout / f"runs/{run}/report/summary.md").write_text(f"## Assay: {run}\n")
        (checkout / "runs/latest").symlink_to("older")
        (step,) = steps_of(load(ROOT / ".github/actions/assay-gate/action.yml"))
        output, page = folder / "output", folder / "page.md"
        environment = {"CHECKOUT": str(checkout), "BASE": "", "HISTORY": "", "LATENCY": "false"}
        environment |= {"LEDGERS": "", "TIER": "ci", "RUNNER_TEMP": str(folder)} | inputs
        environment |= {"GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(page)}
        command = ["bash", "-eo", "pipefail", "-c", step["run"]]
        self.code = subprocess.run(command, cwd=folder, env=os.environ | environment).returncode
        self.outputs = dict(line.split("=", 1) for line in text_of(output).splitlines())
        self.page = text_of(page)


@pytest.mark.parametrize("code", [0, 1, 2, 3, 4])
def test_the_action_publishes_the_run_and_its_verdict(tmp_path, code):
    job = Job(tmp_path, f"ln -sfn new runs/latest\nexit {code}\n")
    run = tmp_path / "change/runs/new"
    assert (job.code, job.page) == (code, "## Assay: new\n")
    assert job.outputs == {"run": str(run), "summary": str(run / "report/summary.md")}


@pytest.mark.parametrize(("code", "told"), [(4, 4), (1, 1), (130, 130), (0, 4)])
def test_the_action_says_that_there_is_no_run_and_is_red(tmp_path, code, told):
    job = Job(tmp_path, f"exit {code}\n")
    assert job.code == told
    assert job.page.startswith("## Assay: no run\n") and f"exit {told}." in job.page
    assert list(job.outputs) == ["summary"]
    summary = Path(job.outputs["summary"])
    assert (summary.name, summary.read_text()) == ("summary.md", job.page)


TOLD = 'printf "%s\\n" "$@" >told\nln -sfn new runs/latest\n'


def test_latencies_are_compared_with_a_ledger_that_is_kept(tmp_path):
    kept = tmp_path / "kept"
    job = Job(tmp_path, TOLD, LATENCY="true", BASE=str(tmp_path), LEDGERS=str(kept))
    assert job.code == 0
    told = (tmp_path / "change/told").read_text().splitlines()
    assert told == ["ci", "--base", str(tmp_path), "--ledgers", str(kept)]


def test_latencies_without_a_ledger_are_refused(tmp_path):
    job = Job(tmp_path, TOLD, LATENCY="true", BASE=str(tmp_path))
    assert (job.code, job.outputs) == (4, {})
    assert not (tmp_path / "change/told").exists()


def test_a_run_without_a_report_is_kept_and_red(tmp_path):
    job = Job(tmp_path, "rm runs/new/report/summary.md\nln -sfn new runs/latest\n")
    assert (job.code, job.outputs["run"]) == (4, str(tmp_path / "change/runs/new"))
    assert job.page.startswith("## Assay: no run\n")


def test_the_comment_is_the_summary_that_the_action_names():
    def paths(file, action):
        for step in steps_of(load(ROOT / ".github/workflows" / file)):
            if step.get("uses", "").startswith(action) and step["with"]["name"] == "gate-summary":
                yield step["with"]["path"]

    assert list(paths("gate.yml", "actions/upload-artifact@")) == ["${{ steps.gate.outputs.summary }}"]
    assert list(paths("comment.yml", "actions/download-artifact@")) == ["${{ runner.temp }}/summary"]


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
