"""Raw samples: the layout, damaged files, and names that try to leave the run's folder."""

import contextlib
import random
import struct

import numpy as np
import pytest

from assay_dashboards.plain import InputError
from assay_dashboards.samples import parse_samples, read_samples
from sample_run import samples_bytes


def test_microseconds_a_launch_in_order():
    samples = parse_samples(samples_bytes([5000, 3000, 0], batch=2), "a")
    assert samples.batch == 2
    np.testing.assert_array_equal(samples.microseconds, [2.5, 1.5, 0])


def test_clocks_behind_the_samples_are_no_samples():
    plain = samples_bytes([5000, 3000])
    content = plain[:8] + b"\x02" + plain[9:] + struct.pack("<2d", 1980, 0)
    np.testing.assert_array_equal(parse_samples(content, "a").microseconds, [5, 3])


GOOD = samples_bytes([1, 2, 3])


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "too short"),
        (b"X" + GOOD[1:], "not a samples file"),
        (GOOD[:8] + b"\x03" + GOOD[9:], "version 3"),
        (GOOD[:8] + b"\x02" + GOOD[9:], "length"),
        (GOOD[:-1], "length"),
        (GOOD + b"12345678", "length"),
        (GOOD[:16] + struct.pack("<Q", 2**64 - 1) + GOOD[24:], "length"),
        (GOOD[:24] + struct.pack("<Q", 0) + GOOD[32:], "batch"),
        (GOOD[:-8] + b"\xff" * 8, "negative"),
    ],
)
def test_damaged_files_are_refused(content, says):
    with pytest.raises(InputError, match=says):
        parse_samples(content, "a")


def test_random_damage_is_read_or_refused():
    seed = random.SystemRandom().getrandbits(32)
    print("seed", seed)
    generator = random.Random(seed)
    for _ in range(2000):
        content = bytearray(GOOD)
        for _ in range(generator.randint(1, 4)):
            content[generator.randrange(len(content))] = generator.randrange(256)
        content = content[: generator.randint(0, len(content))] if generator.random() < 0.3 else content
        with contextlib.suppress(InputError):
            assert len(parse_samples(bytes(content), "a").microseconds) <= len(content) // 8


@pytest.mark.parametrize(
    "name",
    ["../secret.bin", "samples/../secret.bin", "/etc/passwd", "samples/a.txt", "samples/a/b.bin", "", "samples/a.bin "],
)
def test_names_cannot_leave_the_folder(tmp_path, name):
    (tmp_path / "run" / "samples").mkdir(parents=True)
    (tmp_path / "secret.bin").write_bytes(GOOD)
    (tmp_path / "run" / "secret.bin").write_bytes(GOOD)
    with pytest.raises(InputError, match=r"samples/NAME\.bin"):
        read_samples(tmp_path / "run", name)


def test_links_are_not_followed(tmp_path):
    (tmp_path / "samples").mkdir()
    (tmp_path / "secret.bin").write_bytes(GOOD)
    (tmp_path / "samples" / "a.bin").symlink_to(tmp_path / "secret.bin")
    with pytest.raises(InputError, match="link"):
        read_samples(tmp_path, "samples/a.bin")
