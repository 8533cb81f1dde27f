"""Conformance: whether a denoiser keeps the contract of the loop that calls it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from plugplay.checks import images
from plugplay.checks.probe import DenoiserFailedError, Probe
from plugplay.checks.report import Check

__all__ = ["conformance"]

SIGMAS = (0.0, 1e-4, 1e-2, 0.1, 0.5, 1.0, 3.0)
SMALL = ((1, 1), (1, 9), (3, 5), (8, 8), (33, 18))
# Inputs lie in [0, 1]. Filters overshoot a little; answers on the scale 0 to 255 are far outside.
RANGE = (-0.5, 1.5)
SIGMA = 0.1


def conformance(probe: Probe, size: int, rng: np.random.Generator) -> tuple[Check, ...]:
    """Check shape, dtype, range, colour, small sizes, sigmas, determinism, sessions, and that the input stays as is."""
    gray = np.clip(images.natural(size) + SIGMA * rng.standard_normal((size, size)), 0, 1)
    colour = images.colour(min(size, 64))
    other = rng.random(gray.shape)

    def kinds() -> Iterator[str]:
        for name, image in (("gray", gray), ("colour", colour)):
            for dtype in (np.float64, np.float32):
                found = probe.output(image.astype(dtype), SIGMA).dtype
                kept = "" if found == dtype else f" (returned as {found}; the loop converts it)"
                yield f"{name} {np.dtype(dtype)}{kept}"

    def strengths() -> Iterator[str]:
        for sigma in SIGMAS:
            probe.output(gray, sigma)
            yield f"{sigma:g}"

    def sizes() -> Iterator[str]:
        for shape in SMALL:
            probe.output(rng.random(shape), SIGMA)
            yield f"{shape[0]} x {shape[1]}"

    def span() -> Iterator[str]:
        outputs = [probe(image, sigma) for image in (gray, other) for sigma in (0.02, 0.3)]
        low, high = min(map(np.min, outputs)), max(map(np.max, outputs))
        if low < RANGE[0] or high > RANGE[1]:
            raise DenoiserFailedError(
                f"for inputs in [0, 1] it returned values from {low:.3g} to {high:.3g}; images are on the scale [0, 1]"
            )
        yield f"values from {low:.3g} to {high:.3g} for inputs in [0, 1]"

    def repeated() -> Iterator[str]:
        first = probe.output(gray, SIGMA)
        probe.output(other, 2 * SIGMA)
        if not np.array_equal(first, probe.output(gray, SIGMA)):
            raise DenoiserFailedError("the same input gave another output after a call with another image")
        yield "the same input gives bit-identical output, also after other images"

    def untouched() -> Iterator[str]:
        probe.output(gray, SIGMA, writable=True)
        yield "the input was compared before and after, and may be read-only"

    def remembered() -> Iterator[str]:
        first, second = probe.session(), probe.session()
        if first is None or second is None:
            yield "none is offered"
            return
        began = first.output(gray, 2 * SIGMA)
        first.output(other, SIGMA)
        if not np.array_equal(began, second.output(gray, 2 * SIGMA)):
            raise DenoiserFailedError("a session depends on the calls of another one")
        yield "two sessions do not depend on each other"

    return (
        _check("shape and dtype", kinds),
        _check("sigma from 0 to 3", strengths),
        _check("range", span),
        _check("small and odd sizes", sizes),
        _check("determinism", repeated),
        _check("input left alone", untouched),
        _check("session", remembered),
    )


def _check(name: str, parts: Callable[[], Iterator[str]]) -> Check:
    """Run the parts; the first that fails makes the check fail."""
    try:
        return Check(name, True, ", ".join(parts()))
    except DenoiserFailedError as error:
        return Check(name, False, str(error))
