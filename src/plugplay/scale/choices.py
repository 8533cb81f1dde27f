"""Parameters that all tiles of an image share, chosen from samples of it.

Noise, lambda, schedule, black and white, a better kernel, and the number of iterations are chosen once: if each tile
chose its own, seams would show. The samples are patches from all over the image. For a single denoising step, the noise
is estimated from all patches at once. For a loop, each patch is restored, the patch with the median lambda determines
the parameters, and the slowest patch the number of iterations.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from plugplay import denoisers
from plugplay.levels import Pace
from plugplay.models import Denoising
from plugplay.plan import Plan
from plugplay.pnp.driver import COARSE_TOLERANCE
from plugplay.pnp.results import Status
from plugplay.preparation import prepare

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from plugplay.arrays.checks import FloatArray
    from plugplay.models.base import Model
    from plugplay.pnp.results import Parameters, Result

__all__ = ["Choices", "ModelFor", "choose_globally", "patches_of"]

# Number of patches along each axis, and their largest side in pixels.
PATCHES, SIDE = 3, 320
# Patches that are restored on trial if there is a loop: the corners of that grid, and its middle.
TRIED = (0, 2, 4, 6, 8)
# Options that only suit runs that begin on a coarse grid.
_FOLLOWS_COARSE = ("pace", "lam", "schedule", "max_iter", "tol")


class ModelFor(Protocol):
    """Makes the model of a part of the image."""

    def __call__(self, observed: NDArray[np.bool_] | None, /) -> Model:
        """Return the model for a part in which these pixels were observed; None means all."""
        ...


@dataclass(frozen=True)
class Choices:
    """Parameters that all tiles share.

    Attributes
    ----------
    parameters : Parameters
        The parameters, as in a `Result`.
    options : dict
        Arguments of `plugplay.prepare` for each tile.
    warnings : tuple of str
        Warnings.
    """

    parameters: Parameters
    options: dict[str, Any]
    warnings: tuple[str, ...]

    def plan(
        self, pixels: NDArray[Any], model_for: ModelFor, observed: NDArray[np.bool_] | None, *, workers: int | None
    ) -> Plan:
        """Return the plan for a part of the image."""
        options = self.options
        if observed is not None and options.get("pace") is not None:
            # Pixels are missing here but not in the patches: such a part cannot begin on a coarse grid.
            options = {name: value for name, value in options.items() if name not in _FOLLOWS_COARSE}
        return prepare(pixels, model_for(observed), workers=workers, **options)

    def warm(self) -> None:
        """Compile what tiles need, on a tiny image."""
        gray = self.options.get("channel_axis") is None or self.options.get("joins_equal")
        image = np.random.default_rng(0).random((32, 32) if gray else (32, 32, 3), np.float32)
        axis = None if gray else -1
        prepare(image, Denoising(), denoiser=self.options["denoiser"], noise=0.1, channel_axis=axis, workers=1).run()

    def finished(self, result: Result) -> Result:
        """Return a tile's result with its status corrected, since the number of iterations was given."""
        return replace(result, status=Status.FINISHED) if result.status is Status.MAX_ITERATIONS else result


def patches_of(shape: tuple[int, int], *, side: int = SIDE, count: int = PATCHES) -> list[tuple[slice, slice]]:
    """Return places spread evenly over an image.

    Examples
    --------
    >>> patches_of((1000, 100), side=320, count=3)[3:5]
    [(slice(340, 660, None), slice(0, 100, None)), (slice(340, 660, None), slice(0, 100, None))]
    """
    axes = []
    for n in shape:
        room = max(n - side, 0)
        starts = [round(room * k / (count - 1)) for k in range(count)]
        axes.append([slice(start, min(start + side, n)) for start in starts])
    return [(rows, columns) for rows in axes[0] for columns in axes[1]]


def choose_globally(
    read: Callable[[int, tuple[slice, slice]], tuple[NDArray[Any], NDArray[np.bool_] | None]],
    shape: tuple[int, int],
    model_for: ModelFor,
    options: dict[str, Any],
    *,
    pages: int = 1,
    workers: int | None = None,
) -> Choices:
    """Choose the parameters for a whole image, or for all pages of a stack.

    Parameters
    ----------
    read : callable
        Gives the pixels of a place on a page, channels last, and which of them were observed.
    shape : (int, int)
        Height and width of the image.
    model_for : callable
        Gives the model of a part.
    options : dict
        What the user has chosen, as `plugplay.prepare` takes it.
    pages : int
        How many pages there are: the patches come from pages spread evenly over them.
    workers : int, optional
        Number of threads.
    """
    places = patches_of(shape)
    turns = [round((pages - 1) * number / (len(places) - 1)) for number in range(len(places))]
    # Places of a small image may be equal.
    found = {str(turn): read(*turn) for turn in zip(turns, places, strict=True)}
    patches = list(found.values())
    mosaic = np.concatenate([pixels for pixels, _ in patches])
    seen = None
    if any(observed is not None for _, observed in patches):
        seen = np.concatenate(
            [np.ones(pixels.shape[:2], bool) if observed is None else observed for pixels, observed in patches]
        )
    whole = prepare(mosaic, model_for(seen), workers=workers, whole=False, **options)
    scale, axes = whole._conversion.scale, whole._conversion.axes
    values = _values(scale.to_working(axes.to_inside(mosaic, "y")), seen)
    limits, clipped = (float(values.min()), float(values.max())), whole.parameters.clipped_noise or (0.0, 0.0)
    scale = replace(scale, limits=limits, clipped=clipped)
    # A gray part of a colour image is restored in colour, like its neighbours.
    shared = {**options, "scale": scale, "joins_equal": axes.equal > 0}
    if isinstance(whole.parameters.noise, float):
        shared["denoiser"] = _fitted(options["denoiser"], values, whole.parameters.prepared)
    if whole.parameters.max_iter == 1 and options.get("max_iter") is None:  # one denoising
        return Choices(whole.parameters, {**shared, "noise": whole.parameters.noise}, whole.warnings)
    shared["clip"] = whole.parameters.clip
    # The mosaic of patches does not follow a blur across its seams, so deblurring is judged patch by patch.
    plans = [
        prepare(pixels, model_for(observed), workers=workers, **shared)
        for pixels, observed in patches
        if observed is None or observed.any()
    ]
    tried = [plans[n] for n in TRIED] if len(plans) == PATCHES**2 else plans
    runs = sorted(((plan, plan.run()) for plan in tried), key=lambda pair: pair[1].parameters.lam / _lam(pair[0]))
    plan, speaker = runs[(len(runs) - 1) // 2]
    chosen, told = speaker.parameters, speaker.warnings
    if chosen.lam == _lam(plan):  # most runs had no reason to change it: all patches together know more
        plan = sorted(plans, key=_lam)[(len(plans) - 1) // 2]
        chosen, told = plan.parameters, plan.warnings
    results = [result for _, result in runs]
    # The slowest patch counts, because a whole image has more of its kind.
    iterations, before = max(len(result.history.at_level(0)) for result in results), _coarse_iterations(results)
    used = replace(chosen, max_iter=iterations)
    fixed = {
        "noise": chosen.noise,
        "lam": chosen.lam,
        "schedule": chosen.schedule,
        "max_iter": iterations,
        "tol": 0.0,
        "tune": None,
        "rng": None,
        "strength": 1.0,
        "reshaping": plan.reshaping,
        "pace": Pace.of(speaker.history, before, share=chosen.lam / speaker.parameters.lam),
    }
    return Choices(used, {**shared, **fixed}, told)


def _lam(plan: Plan) -> float:
    return plan.parameters.lam


def _values(image: FloatArray, seen: NDArray[np.bool_] | None) -> FloatArray:
    """Return the pixels that were observed, if there are any, one after another."""
    return image.reshape(-1, *image.shape[2:]) if seen is None or not seen.any() else image[seen]


def _fitted(denoiser: Any, values: FloatArray, prepared: Any) -> Any:
    """Return the denoiser for parts of an image, given samples of all of it, and as it was prepared for these."""
    method: Any = denoisers.get(denoiser) if isinstance(denoiser, str) else denoiser
    around = getattr(method, "around", None)
    if around is None:
        return denoiser
    planes = getattr(prepared, "noise_planes", None)
    if planes is not None:
        method = replace(method, noise_planes=planes)
        around = method.around
    return around(tuple(np.atleast_1d(values.mean(axis=0, dtype=np.float64)).tolist()))


def _coarse_iterations(results: list[Result]) -> int:
    """Return after how many iterations on the coarse grid an image of all patches would have come to rest."""
    histories = [found for result in results if len(found := result.history.at_level(1))]
    if not histories:
        return 0
    longest = max(map(len, histories))
    delta = np.zeros(longest)
    for name in ("dx", "dv", "du"):
        # A patch that has converged stays so.
        moves = [np.pad(getattr(history, name), (0, longest - len(history)), mode="edge") for history in histories]
        delta += np.sqrt(np.mean(np.square(moves), axis=0))
    # None ends sooner than the rules plan for it.
    first = min(map(len, histories))
    at_rest = np.flatnonzero(delta[first - 1 :] <= COARSE_TOLERANCE * results[0].parameters.tol)
    return first + int(at_rest[0]) if at_rest.size else longest
