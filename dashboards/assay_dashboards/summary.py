"""summary.md: what a reviewer needs on a job page or in a comment, bounded in size. Everything from a record stands in
a code span, where Markdown and HTML mean nothing and nobody is mentioned."""

import re

from .latency_words import NOTE, SAID, SYMBOL, grouped, headline, reasons, unpinned, verdict
from .plain import shortened
from .view import SYMBOL_OF_VERDICT, View

LONGEST = 60_000  # characters; a GitHub comment holds 65536
_MOST_FAILURES, _MOST_FINDINGS, _MOST_LATENCIES = 50, 50, 60
_UNSEEN = "a change as small as the policy's margin may go unseen"
_MOST_NAMED, _MOST_BLIND = 10, 30
_OF_FINDINGS = (
    "For a person to read; nothing passes with them (exit code 2 where nothing fails). A change does not judge itself: "
    "with a base, its policy, pins and goldens were in force, whatever the change edits of them. Once the owner has "
    "approved what is listed, `assay gate --approve-findings` puts the change's own in force."
)
_QUANTILES = ("p50_us", "p90_us", "p99_us")


def code(text: str, longest: int = 160) -> str:
    """`text` as a code span that holds whatever it is. Empty text gives an empty one."""
    if not text.strip():
        return ""
    text = shortened(text, longest)
    runs = [len(run) for run in re.findall(r"`+", text)]
    fence = "`" * (max(runs, default=0) + 1)
    pad = " " if runs else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def cell(text: str, longest: int = 160) -> str:
    """The same for a cell of a table, which GFM ends at a bare pipe, code span or not, and where alone it takes the
    backslash of an escaped one away. A backslash before the pipe would undo the escape."""
    return code(text, longest).replace("\\|", "\\ |").replace("|", "\\|")


def summary(view: View) -> str:
    run = view.run
    asked, pin = run["asked"], run["pin"]
    counts = ", ".join(f"{SYMBOL_OF_VERDICT.get(v, '✗')} {n} {v}" for v, n in view.verdict_counts().items())
    head = [
        f"## Assay: {view.headline}" + (f", environment {pin['state']}" if pin["state"] != "pinned" else ""),
        "",
        f"{len(view.records)} of {run['planned']} planned kernel-cases recorded: {counts or 'none'}.",
        "",
        f"Asked: {code(asked['command'])}, tier {code(asked['tier'])}"
        + (f", filter {code(asked['filter'])}" if asked["filter"] else "")
        + (f", commit {code(run['commit'])}" if run["commit"] else "")
        + f" on {code(view.processor)}; exit code {view.exit_code}.",
        "",
        f"Environment: {code(view.pin)}",
        *(f"- {code(line, 400)}" for line in pin["differences"][:_MOST_FINDINGS]),
        *_rest(_MOST_FINDINGS, pin["differences"]),
    ]
    blocks = [
        head,
        _failures(view),
        _against_base(view),
        _findings(view),
        _not_run(view),
        _not_available(view),
        _left_out(view),
        _latencies(view),
    ]
    lines, size, dropped = [], 0, 0
    for line in (line for block in blocks if block for line in [*block, ""]):
        if size + len(line) + 1 > LONGEST - 200:
            dropped += 1
            continue
        lines.append(line)
        size += len(line) + 1
    if dropped:
        lines.append(f"{dropped} lines are left out here; the report has them.")
    return "\n".join(lines).rstrip() + "\n"


def _rest(shown, all_of_them):
    left = len(all_of_them) - shown
    return ["", f"{left} more are in the report."] if left > 0 else []


def _failures(view):
    if not view.failures:
        return []
    lines = ["### Not passing", "", "| verdict | case | owner | reason |", "| --- | --- | --- | --- |"]
    shown = view.failure_groups()[:_MOST_FAILURES]
    for r, *others in shown:
        symbol = SYMBOL_OF_VERDICT.get(r["verdict"], "✗")
        more = f" and {len(others)} more cases" if others else ""
        cells = (f"{symbol} {r['verdict']}", cell(r["kernel_id"]) + more, cell(r["owner"], 60), cell(r["reason"], 200))
        lines.append("| " + " | ".join(cells) + " |")
    lines += _rest(sum(map(len, shown)), view.failures)
    # The whole command, or it does not replay.
    repro = [f"- {code(r['repro'], 600)}" for r, *_ in shown if r["repro"]]
    return [*lines, "", "Replay:", "", *repro]


def _against_base(view):
    """One line where all passed, and a list of what it is blind to where that is more than one thing."""
    comparison = view.comparison
    if comparison is None:
        return []
    told = comparison.told
    blind = _blind(comparison)

    def saying(more):
        return f"{verdict(comparison)[1]} {headline(comparison)}{more}. {unpinned(view)}".rstrip()

    said = saying(f"; {_UNSEEN} {blind[0]}" if len(blind) == 1 else "")
    unseen = [f"{_UNSEEN.capitalize()}:", "", *(f"- {where}" for where in blind)] if len(blind) > 1 else []
    if comparison.exit_codes == {0} and not comparison.not_passing and not told["selections"] and not told["findings"]:
        return [f"**Latency against the base:** {said}", *(["", *unseen] if unseen else [])]
    parts = [
        ["### Latency against the base"],
        [said],
        [code(told["invalid"], 600)] if told["invalid"] else [],
        [*_cases_that_do_not_pass(comparison), *_beside(told)],
        unseen,
        [NOTE] if comparison.not_passing else [],
    ]
    return "\n\n".join("\n".join(part) for part in parts if part).split("\n")


def _cases_that_do_not_pass(comparison):
    lines = []
    shown = grouped(comparison.not_passing)[:_MOST_FAILURES]
    for case, *others in shown:
        more = f" and {len(others)} more cases" if others else ""
        lines.append(f"- {SYMBOL[case.outcome]} **{SAID[case.outcome]}** {code(case.id)}{more}")
        for sentence, of_the_gate in reasons(case):
            lines.append(f"  - {sentence}" + (f" The gate says: {code(of_the_gate, 300)}" if of_the_gate else ""))
    return lines + _rest(sum(map(len, shown)), comparison.not_passing)


def _beside(told):
    changed = [
        f"⇄ **dispatch changed** {code(one['kernel_id'])}: {code(one['what'], 300)}" for one in told["selections"]
    ]
    found = [f"{code(one['kind'], 40)} {code(one['text'], 300)}" for one in told["findings"]]
    left_out = [f"left out: {code(one['what'])}: {code(one['why'], 200)}" for one in told["left_out"]]
    lines = []
    for listed in (changed, found, left_out):
        lines += [f"- {line}" for line in listed[:_MOST_FINDINGS]] + _rest(_MOST_FINDINGS, listed)
    return lines


def _blind(comparison):
    """Where a verdict is of less than the policy asks for."""
    told = []
    for why, classes in sorted(comparison.blind.items(), key=lambda item: min(item[1]))[:_MOST_BLIND]:
        named = [f"{code(name, 60)} ({', '.join(metrics)})" for name, metrics in list(classes.items())[:_MOST_NAMED]]
        more = f" and {len(classes) - _MOST_NAMED} more" if len(classes) > _MOST_NAMED else ""
        told.append(f"in {', '.join(named)}{more}: {code(why, 200)}")
    left = len(comparison.blind) - _MOST_BLIND
    return told + ([f"{left} more are in the report"] if left > 0 else [])


def _findings(view):
    if not view.findings:
        return []
    lines = ["### Findings", "", _OF_FINDINGS, ""]
    lines += [f"- {code(kind, 40)} {code(text, 300)}" for kind, text in view.findings[:_MOST_FINDINGS]]
    return lines + _rest(_MOST_FINDINGS, view.findings)


def _not_run(view):
    if not view.not_run:
        return []
    lines = [f"- target {code(target, 20)}: {code(', '.join(names), 600)}" for target, names in view.not_run.items()]
    return ["### Of another device than this run's, and not judged in it", "", *lines]


def _not_available(view):
    if not view.not_available:
        return []
    lines = [
        f"- {number} cases of {code(kernel, 60)}: {code(lack, 200)}"
        for kernel, (number, lack) in view.not_available.items()
    ]
    return ["### Not judged, because this machine cannot run it", "", *lines]


def _left_out(view):
    if not view.run["left_out"]:
        return []
    lines = ["### Left out", ""]
    for one in view.run["left_out"][:_MOST_FINDINGS]:
        of = f"{one['cases']} cases of {code(one['kernel'], 60)}"
        lines.append(f"- {of}, judged by the cases of tier {code(one['judged_by'], 20)}: {code(one['reason'], 300)}")
    return lines + _rest(_MOST_FINDINGS, view.run["left_out"])


def _latencies(view):
    rows = view.latency_frame.to_dict("records")
    if not rows:
        return []
    lines = ["### Latency", "", "| case | metric | p50 µs | p90 µs | p99 µs | tail mass | samples |"]
    lines.append("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    shown = rows[:_MOST_LATENCIES]
    for row in shown:
        # Of one sample there are no quantiles.
        once = row["samples"] == 1
        times = " | ".join("" if once and key != "p50_us" else f"{row[key]:.4g}" for key in _QUANTILES)
        tail = "" if once else f"{row['tail_mass']:.3f}"
        name = cell(f"{row['name']}:{row['case']}")
        coarse = " (coarse)" if row["coarse"] else ""
        lines.append(f"| {name} | {cell(row['metric'])}{coarse} | {times} | {tail} | {row['samples']} |")
    if any(row["coarse"] for row in shown):
        lines += ["", "coarse: a launch is shorter than the clock resolves well, and a cold one cannot be batched."]
    return lines + _rest(_MOST_LATENCIES, rows)
