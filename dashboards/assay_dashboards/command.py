"""What the package's commands share: arguments that are refused with exit code 4, and pages that are written whole."""

import argparse
import contextlib
import errno
import os
from pathlib import Path

from .plain import InputError


class Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(4, f"{self.prog}: {message}\n")


def refused(file, error: OSError) -> InputError:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    remedy = "free space on its disk" if full else "make it writable"
    return InputError(f"{file}: cannot be written: {error.strerror}; {remedy}")


def no_output(error: OSError) -> InputError:
    """What to say where a file, or standard output, could not be written. The interpreter writes what it could not once
    more at its end, which must not fail again and take the place of the exit code."""
    if error.filename is None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return refused(error.filename or "standard output", error)


def _replace(file: Path, content: bytes):
    part = file.with_name(file.name + ".part")
    try:
        part.write_bytes(content)
        os.replace(part, file)
    except OSError as error:
        # A full disk is refused without a file name, and half a page must not stay.
        with contextlib.suppress(OSError):
            part.unlink()
        raise refused(file, error) from None


def write_pages(files: dict, out: Path, stale: str = "") -> Path:
    """`files`: name -> content, the page to open first, whose path is returned. Files of `out` whose names match the
    pattern `stale` are removed when they are not among them. Raises InputError."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        for file in out.glob(stale) if stale else ():
            if file.name not in files:
                file.unlink()
    except OSError as error:
        raise refused(error.filename or out, error) from None
    for name, content in files.items():
        _replace(out / name, content)
    return out / next(iter(files))
