"""Reads the raw latency samples that harness/measure/samples_file.h describes."""

import re
import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .plain import InputError

_HEADER = struct.Struct("<8sIIQQ")
_NAME = re.compile(r"samples/[A-Za-z0-9_-]+\.bin")


@dataclass
class Samples:
    """Microseconds a launch, in the order taken; `batch` launches were timed together."""

    microseconds: np.ndarray
    batch: int


def read_samples(folder: Path, name: str) -> Samples:
    """`name` is what a record says, and may lie: only a plain file in folder/samples is opened. Raises InputError."""
    if not _NAME.fullmatch(name):
        raise InputError("a samples file must be samples/NAME.bin")
    file = folder / name
    try:
        if file.is_symlink() or file.parent.is_symlink():
            raise InputError(f"{name}: a link is not followed")
        content = file.read_bytes()
    except OSError as error:
        raise InputError(f"{name}: {error.strerror}") from None
    return parse_samples(content, name)


def parse_samples(content: bytes, name: str) -> Samples:
    if len(content) < _HEADER.size:
        raise InputError(f"{name}: too short for a samples file")
    magic, version, label_bytes, count, batch = _HEADER.unpack_from(content)
    if magic != b"ASSAYSMP":
        raise InputError(f"{name}: not a samples file")
    if version not in (1, 2):
        raise InputError(f"{name}: version {version} of a samples file; this program reads 1 and 2")
    if not 1 <= batch <= 2**40:
        raise InputError(f"{name}: batch out of range")
    if len(content) != _HEADER.size + label_bytes + 8 * version * count:  # version 2 has clocks behind the samples
        raise InputError(f"{name}: length does not match its count of samples (cut off?)")
    nanoseconds = np.frombuffer(content, dtype="<i8", count=count, offset=_HEADER.size + label_bytes)
    if (nanoseconds < 0).any():
        raise InputError(f"{name}: a negative duration")
    return Samples(nanoseconds / (1e3 * batch), batch)
