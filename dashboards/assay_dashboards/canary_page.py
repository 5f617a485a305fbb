"""The page of a canary, from which a release manager decides."""

from .canary import CHANGES, KINDS, VERDICTS, Canary
from .html import template_environment, us

_MOST_CARDS = 30
_MOST_SHAPES = 2000
# What a verdict means to whoever releases.
_SENTENCES = {
    "PROMOTE": "Nothing was found that speaks against the candidate in what was asked.",
    "HOLD": "Nothing is newly wrong, but somebody has to look at the reasons before it is promoted.",
    "REJECT": "The candidate does something worse than the pin beyond doubt: keep the pin.",
    "INVALID": "Nothing is known: the machine was too disturbed. Repeat it on a quieter one.",
}
_NOT_AS_ASKED = "Nothing is known: the two sides were not what was asked for. See to the reasons and repeat it."


def canary_pages(canary: Canary) -> dict:
    """File name -> content."""
    environment = template_environment()
    environment.globals.update(
        canary=canary,
        us=us,
        classes={verdict: (colour, symbol) for verdict, (_, colour, symbol) in VERDICTS.items()},
        change_classes=CHANGES,
        kinds=KINDS,
        sentence=_sentence(canary.told),
        most_cards=_MOST_CARDS,
        most_shapes=_MOST_SHAPES,
        ratio=_ratio,
    )
    return {"index.html": environment.get_template("canary.html.j2").render()}


def _sentence(told):
    is_as_asked = all(reason["kind"] != "arms" for reason in told["reasons"])
    return _SENTENCES[told["verdict"]] if is_as_asked else _NOT_AS_ASKED


def _ratio(value):
    """The candidate's time to the pin's, as a change: "+3.1 %"."""
    return "unknown" if value is None else f"{100 * (value - 1):+.1f} %"
