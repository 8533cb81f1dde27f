"""Values for the call fuzzer: images as users have them, and what gets into arguments by mistake or malice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

BOUNDED = {"factor": 16, "oversampling": 16, "workers": 16, "frames": 16}


NUMBERS = (
    *(
        "noise",
        "lam",
        "tol",
        "gain",
        "dark",
        "efficiency",
        "strength",
        "rho",
        "rho0",
        "gamma",
        "eta",
        "delta",
        "previous",
    ),
    *("sigma", "radius", "length", "angle", "read"),
)
INTEGERS = ("factor", "oversampling", "size", "frames", "threshold", "offset", "channel_axis", "border", "packed_axis")


class BrokenError(Exception):
    """Raised by a user's own function; it must come out as it is."""


def _raising(*_: object) -> Any:
    raise BrokenError


class Odd:
    """An object that is nothing in particular."""

    def __repr__(self) -> str:
        return "Odd()"


def image(rng: np.random.Generator, *, colour: bool = False) -> Any:
    """Return an image of one of the usual types."""
    shape = (int(rng.integers(8, 20)), int(rng.integers(8, 20)), *((3,) if colour else ()))
    kind = rng.choice(["f8", "f4", "u1", "u2"])
    values = rng.random(shape)
    return values.astype(kind) if kind[0] == "f" else (values * np.iinfo(kind).max).astype(kind)


def hostile_image(rng: np.random.Generator) -> Any:
    """Return an array that is hardly an image."""
    base = rng.random((9, 11))
    choices: list[Callable[[], Any]] = [
        lambda: np.full((9, 11), rng.choice([0.0, 0.5, 1.0, -3.0, 1e9])),
        lambda: base * rng.choice([1e-320, 1e-200, 1e-30, 1e30, 1e150, 1e300, -1.0]),
        lambda: (base * 1e37).astype(np.float32),
        lambda: np.where(base < 0.1, rng.choice([np.nan, np.inf, -np.inf]), base),
        lambda: np.full((9, 11), np.nan),
        lambda: base.astype(rng.choice(["f2", ">f8", ">f4", "g"])),
        lambda: rng.integers(-(2**62), 2**62, (9, 11)),
        lambda: np.array([[np.iinfo(np.int64).min, np.iinfo(np.int64).max]]),
        lambda: np.array([[0, 2**64 - 1]], np.uint64),
        lambda: base < 0.5,
        lambda: base[::-1, ::-2],
        lambda: np.asfortranarray(base),
        lambda: np.broadcast_to(base[:1], (9, 11)),
        lambda: rng.random(tuple(int(n) for n in rng.choice([0, 1, 2, 3, 5], int(rng.integers(0, 6))))),
        lambda: rng.random((1, 1)),
        lambda: rng.random((1, 40)),
        lambda: rng.random((2, 2)),
        lambda: base + 1j,
        lambda: base.astype(object),
        lambda: base.astype(str),
        lambda: np.zeros((4, 4), [("r", "u1"), ("g", "u1")]),
        lambda: np.array([["2020-01-01"]], "M8[D]"),
        lambda: np.ma.masked_array(base, base < 0.3),
        lambda: np.asmatrix(base),
        lambda: base.tolist(),
        lambda: [[1, 2], [3]],
        lambda: memoryview(base),
        lambda: np.full((9, 11), 255, np.uint8),
    ]
    return choices[int(rng.integers(len(choices)))]()


def hostile(rng: np.random.Generator) -> Any:
    """Return a value that few parameters expect."""
    values: list[Any] = [
        *(None, True, False, 0, 1, -1, 2, 3, 255, 10**6, -(10**6), 2**63, 10**30),
        *(0.0, -0.0, 0.5, -0.5, 1e-320, 1e-300, 1e-30, 1e30, 1e300, float("nan"), float("inf"), -float("inf")),
        *("", "x", "bm3d", "auto", "no-such-file.png", "\0", "\x1b[31m", "ü" * 300, b"bytes", "gaussian:9,nan"),
        *((), [], {}, (1,), (0, 1), (1, 0), (0.0, 0.0), (float("nan"), 1.0), (1, 2, 3), [[]], {"a": 1}, {1, 2}),
        *(1j, Odd(), Odd, print, _raising, lambda *_: None, lambda x, *_: x, lambda x, *_: x * np.nan),
        *(lambda x, *_: x[..., :1], lambda x, *_: (x * 255).astype(np.uint8), slice(None), Ellipsis, NotImplemented),
        *(np.float32(0.1), np.float64("nan"), np.int8(-5), np.uint64(2**64 - 1), np.bool_(True), np.array(3)),
        *(np.str_("tv"), np.random.default_rng(0), range(3), iter([1, 2]), Path("missing.npy"), 10**400, "1" * 500),
    ]
    if rng.random() < 0.25:
        return hostile_image(rng)
    return values[int(rng.integers(len(values)))]


def hostile_for(name: str, rng: np.random.Generator) -> Any:
    """Return a hostile value that gets past the first check as often as not."""
    if name in ("y", "x", "image", "light", "bits", "source"):
        return hostile_image(rng)
    if name in NUMBERS and rng.random() < 0.6:
        exponent = rng.choice([-320, -300, -160, -40, -20, -8, -3, -1, 0, 1, 3, 8, 20, 40, 160, 300])
        number = float(rng.choice([1.0, 1.0, 2.5, -1.0])) * 10.0 ** float(exponent)
        return np.float32(number) if rng.random() < 0.2 else number
    if name in INTEGERS and rng.random() < 0.6:
        return int(rng.choice([-7, -1, 0, 1, 2, 3, 5, 8, 13, 40]))
    return hostile(rng)
