"""The page of a canary, from which a release manager decides."""

from .canary import CHANGES, KINDS, VERDICTS, Canary
from .html import template_environment, us

_MOST_CARDS = 30
_MOST_SHAPES = 2000
# What a verdict means to whoever releases.
_SENTENCES = {
    "PROMOTE": "Nothing was found that speaks against the candidate in what was asked.",
    "HOLD": "Nothing is newly wrong, but somebody has to look before it is promoted.",
    "REJECT": "The candidate does something worse than the pin beyond doubt.",
    "INVALID": "Nothing is known: the two sides were not what was asked for, or the machine was too disturbed.",
}


def canary_pages(canary: Canary) -> dict:
    """File name -> content."""
    environment = template_environment()
    environment.globals.update(
        canary=canary,
        us=us,
        classes={verdict: (colour, symbol) for verdict, (_, colour, symbol) in VERDICTS.items()},
        change_classes=CHANGES,
        kinds=KINDS,
        sentence=_SENTENCES[canary.told["verdict"]],
        most_cards=_MOST_CARDS,
        most_shapes=_MOST_SHAPES,
        ratio=_ratio,
        shown_path=_shown_path,
    )
    return {"index.html": environment.get_template("canary.html.j2").render()}


def _ratio(value):
    """The candidate's time to the pin's, as a change: "+3.1 %"."""
    return "unknown" if value is None else f"{100 * (value - 1):+.1f} %"


def _shown_path(path):
    """A file of the system whole, one of the cache of libraries from there, and of any other folder its last parts."""
    if path.startswith(("/usr/", "/lib/", "/lib64/", "/opt/")):
        return path
    _, found, rest = path.partition("/assay/libraries/")
    return rest if found else "/".join(path.rsplit("/", 2)[-2:])
