"""`check_denoiser`: whether a denoiser keeps its contract, and what the theory says about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np

from plugplay.arrays.checks import check_choice, check_integer, generator
from plugplay.checks.boundedness import boundedness
from plugplay.checks.calibration import calibration
from plugplay.checks.conformance import conformance
from plugplay.checks.denoiser_report import DenoiserReport
from plugplay.checks.expansiveness import expansiveness
from plugplay.checks.probe import DenoiserFailedError, Probe
from plugplay.denoisers.base import Denoiser, get

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["check_denoiser"]

T = TypeVar("T")

# Steps of the searches, for each sigma: for C and for kappa.
EFFORTS = {"quick": (20, 60), "thorough": (300, 1200)}
# Calls of the denoiser that this takes, within a tenth: some searches end early.
CALLS = {"quick": 610, "thorough": 6700}
# Pairs are searched on small images, where a search covers more: a pair is a counter-example at any size.
PAIR_SIZE = 24
SMALLEST = 16


def check_denoiser(
    denoiser: Denoiser | str,
    *,
    size: int = 64,
    effort: Literal["quick", "thorough"] = "quick",
    rng: np.random.Generator | int = 0,
    progress: Callable[[int, int], object] | None = None,
) -> DenoiserReport:
    """Check a denoiser, a built-in or one of your own, and say what is guaranteed with it.

    Checked are: the contract (shape, dtype, range, colour, small sizes, sigma from 0 to 3, determinism, input left
    alone); boundedness (Definition 1 of the paper), by searching inputs that it changes much, with sigma down to
    1e-4; expansiveness (Appendix A), by searching pairs that it drives apart; and calibration. A denoiser that raises
    or returns nonsense is reported, not propagated.

    Parameters
    ----------
    denoiser : callable or str
        ``(image, sigma) -> image``, or a name that `plugplay.denoisers.get` knows.
    size : int
        Side of the square test images, at least 16.
    effort : {"quick", "thorough"}
        About 600 calls, or ten times as many.
    rng : numpy.random.Generator or int
        Source of noise and of the searches.
    progress : callable, optional
        Called before each call of the denoiser with the number of calls so far and about how many there will be.

    Returns
    -------
    DenoiserReport
        ``print(report)``; ``report.passed`` and ``report.raise_if_failed()`` for the contract, in tests;
        ``report.save(path)`` for the images behind the figures.

    Examples
    --------
    >>> import plugplay as pp
    >>> report = pp.check_denoiser(lambda image, sigma: image / (1 + sigma), size=16)
    >>> report.passed, report.boundedness.bounded, report.expansiveness.expansive
    (True, True, False)
    """
    if isinstance(denoiser, str):
        denoiser = get(denoiser)
    if not callable(denoiser):
        raise TypeError(f"denoiser must be a callable (image, sigma) -> image or a name; got {denoiser!r}")
    size = check_integer(size, "size", minimum=SMALLEST)
    steps, pair_steps = EFFORTS[check_choice(effort, "effort", tuple(EFFORTS))]
    source = generator(rng, "check_denoiser")
    expected = CALLS[effort]
    told = None if progress is None else lambda calls: progress(calls, max(calls + 1, expected))
    probe = Probe(denoiser, told=told)
    pair_size = min(size, PAIR_SIZE)
    checks = conformance(probe, size, source)
    bound = _unless_failed(lambda: boundedness(probe, size=size, steps=steps, rng=source))
    pair = _unless_failed(lambda: expansiveness(probe, size=pair_size, steps=pair_steps, rng=source))
    levels = _unless_failed(lambda: calibration(probe, size=size, rng=source))
    return DenoiserReport(probe.name, checks, bound, pair, levels, probe.calls)


def _unless_failed(measure: Callable[[], T]) -> T | None:
    """Measure, or return None if the denoiser fails: the conformance part says how."""
    try:
        return measure()
    except DenoiserFailedError:
        return None
