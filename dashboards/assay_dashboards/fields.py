"""Readers of JSON values, each from a value to what it holds. What does not fit is refused with the path of the field,
such as `.checks[2].outcome: not a string`. Unknown keys are ignored, so that newer minor versions are read."""

import json
import math
import re
from pathlib import Path

from .plain import InputError, plain, plain_tree

SCHEMA_MAJOR = 1
_WORD = re.compile(r"[a-z][a-z0-9-]{0,40}")
_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def text(value):
    if not isinstance(value, str):
        raise InputError("not a string")
    return value


def word(value):
    if not _WORD.fullmatch(text(value)):
        raise InputError("not a word of small letters, digits and hyphens")
    return value


def integer(value):
    if isinstance(value, bool) or not isinstance(value, int) or not -(2**63) <= value < 2**64:
        raise InputError("not an integer of 64 bits")
    return value


def count(value):
    if integer(value) < 0:
        raise InputError("negative")
    return value


def number(value):
    if isinstance(value, str) and value in _NOT_FINITE:
        return _NOT_FINITE[value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError('not a number, "nan", "inf" or "-inf"')
    return _float(value)


def finite(value):
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError("not a number")
    return _float(value)


def share(value):
    if not 0 <= number(value) <= 1:
        raise InputError("not between 0 and 1")
    return number(value)


def _float(value):
    try:
        return float(value)
    except OverflowError:
        raise InputError("out of range") from None


def flag(value):
    if not isinstance(value, bool):
        raise InputError("neither true nor false")
    return value


def one_of(*words):
    def read(value):
        if text(value) not in words:
            raise InputError(f"'{plain(value[:40])}' is not one of {', '.join(words)}")
        return value

    return read


def at_least(least, item):
    def read(value):
        if item(value) < least:
            raise InputError(f"less than {least}")
        return item(value)

    return read


# Composed readers look for the place of what does not fit only once something does not: millions of values fit.


def list_of(item):
    def read(value):
        if not isinstance(value, list):
            raise InputError("not an array")
        try:
            return [item(element) for element in value]
        except InputError:
            return [_at(f"[{i}]", item, element) for i, element in enumerate(value)]

    return read


def map_of(item):
    def read(value):
        if not isinstance(value, dict):
            raise InputError("not an object")
        try:
            return {key: item(element) for key, element in value.items()}
        except InputError:
            return {key: _at(f".{plain(key)}", item, element) for key, element in value.items()}

    return read


def object_of(items, **absent):
    """`absent` is what a key is taken for that an older writer does not know."""

    def read(value):
        if not isinstance(value, dict):
            raise InputError("not an object")
        value = absent | value if absent else value
        missing = [key for key in items if key not in value]
        if missing:
            raise InputError(f"'{missing[0]}' is missing")
        try:
            return {key: item(value[key]) for key, item in items.items()}
        except InputError:
            return {key: _at(f".{key}", item, value[key]) for key, item in items.items()}

    return read


def optional(item):
    return lambda value: None if value is None else item(value)


def refuse_unknown(value, told):
    """`told`: what was read of `value`. A key of it that no reader asked for is refused with its path."""
    if isinstance(value, dict):
        unknown = [key for key in value if key not in told]
        if unknown:
            raise InputError(f"'{unknown[0]}' is unknown")
        for key, element in value.items():
            _at(f".{key}", lambda inner, key=key: refuse_unknown(inner, told[key]), element)
    elif isinstance(value, list):
        for i, element in enumerate(value):
            _at(f"[{i}]", lambda inner, i=i: refuse_unknown(inner, told[i]), element)


def _at(path, read, value):
    try:
        return read(value)
    except InputError as error:
        message = str(error)
        raise InputError(path + (message if message[0] in ".[" else f": {message}")) from None


def _no_repeated_keys(pairs):
    value = dict(pairs)
    if len(value) != len(pairs):
        raise InputError("a key appears twice in one object")
    return value


def _major(value):
    if not 1 <= integer(value) <= SCHEMA_MAJOR:
        raise InputError(f"schema {value} cannot be read by this program ({SCHEMA_MAJOR})")
    return value


def _finite(digits):
    value = float(digits)
    if math.isinf(value):
        raise InputError(f"the number {digits[:20]} is out of range")
    return value


def _no_constant(name):
    raise InputError(f"{name} is not JSON")


VERSION = object_of({"major": _major, "minor": count})  # of a schema
_DECODER = json.JSONDecoder(object_pairs_hook=_no_repeated_keys, parse_float=_finite, parse_constant=_no_constant)
_OF_DOCUMENT = object_of({"schema": object_of({"major": integer})})


def json_value(data: bytes):
    """Parses one JSON document."""
    try:
        return _DECODER.decode(data.decode("utf-8"))
    except RecursionError:
        raise InputError("nested too deeply") from None
    except ValueError as error:  # JSON and UTF-8 errors both
        raise InputError(f"not JSON: {plain(str(error))[:200]}") from None


def document(data: bytes, read):
    """Parses one JSON document of this schema and reads it with `read`. Returns what was read, every text of it made
    plain, and the document as it is."""
    value = json_value(data)
    major = _OF_DOCUMENT(value)["schema"]["major"]
    if not 1 <= major <= SCHEMA_MAJOR:
        raise InputError(f"schema {major} cannot be read by this program ({SCHEMA_MAJOR}); use a newer assay")
    # Without escapes and DEL what is ASCII holds nothing hidden: JSON refuses other controls as they are.
    ordinary = data.isascii() and b"\\" not in data and b"\x7f" not in data
    return read(value) if ordinary else plain_tree(read(value)), value


def bytes_of(file: Path, of: str = "run") -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}; is this a {of}'s folder?") from None
