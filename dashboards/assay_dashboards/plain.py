"""Text from records is hostile: kernels supply it. Everything read passes through here once, on loading."""

import hashlib
import re
import unicodedata


class InputError(Exception):
    """A run folder that cannot be used: one line that names file, line and field."""


# Cc: controls; Cf: directions, joiners and the like, which reorder or hide text; Cs: lone surrogates; Co, Cn: nothing
# that a reader could see; Zl, Zp: line breaks.
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_ORDINARY = re.compile(r"[ -~]*")


def plain(text: str) -> str:
    """`text` on one line, with every character that cannot be seen as its escape (\\n, \\x1b, \\u202e)."""
    if _ORDINARY.fullmatch(text):
        return text
    return "".join(
        c.encode("unicode_escape").decode("ascii") if unicodedata.category(c) in _HIDDEN else c for c in text
    )


def plain_tree(value):
    """The same for every string of a JSON value, keys included."""
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, list):
        return [plain_tree(item) for item in value]
    if isinstance(value, dict):
        return {plain(key): plain_tree(item) for key, item in value.items()}
    return value


def slug(name: str) -> str:
    """A file name and anchor for `name`: readable, and different for different names."""
    readable = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:48]
    return f"{readable}-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:10]}"


def shortened(text: str, longest: int) -> str:
    """At most `longest` characters, the cut shown."""
    return text if len(text) <= longest else text[: longest - 1] + "…"
