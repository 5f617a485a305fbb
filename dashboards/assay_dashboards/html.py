"""How every page is made: templates escape everything, and the only markup let through is this package's own."""

import base64
import hashlib
import math
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from .plain import shortened

_TEMPLATES = Path(__file__).parent / "templates"


def template_environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["own"] = Markup  # this package's own style and script, and nothing else
    script = (_TEMPLATES / "filter.js").read_text("utf-8")
    environment.globals.update(
        style=(_TEMPLATES / "style.css").read_text("utf-8"),
        script=script,
        # The page may run this script and no other: not even one that an escaping fault would let in.
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        number=number,
        percent=percent,
        shortened=shortened,
    )
    return environment


def us(value, digits=3) -> str:
    """Microseconds to so many significant digits, with a unit that fits."""
    if not math.isfinite(value):
        return str(value)
    for unit, scale in (("s", 1e6), ("ms", 1e3), ("µs", 1.0)):
        if abs(value) >= scale or scale == 1.0:
            return f"{value / scale:.{digits}g} {unit}" if abs(value / scale) < 1000 else f"{value / scale:.0f} {unit}"
    raise AssertionError("unreachable")


def number(value) -> str:
    if isinstance(value, float) and not value.is_integer():
        return f"{value:.4g}"
    return f"{int(value):,}" if math.isfinite(value) else str(value)


def percent(part, whole) -> str:
    """Never 100 % of less than all, nor 0 % of more than nothing."""
    share = 100 * part / whole
    return f"{share if part in (0, whole) else min(max(share, 0.1), 99.9):.1f} %"
