"""Optional members of models and data terms, and defaults for those that are missing.

No other code asks which optional members a model or a data term has.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from plugplay.arrays.checks import FloatArray
from plugplay.models.base import WarmDataTerm
from plugplay.models.solvers import POWER_MARGIN, largest_eigenvalue
from plugplay.traits import Traits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay.models.base import DataTerm, Model, PoissonDataTerm, ProxSession
    from plugplay.models.operators.reshaping import Reshaping
    from plugplay.noise.growing import PoissonGaussian
    from plugplay.noise.sky import Sky

__all__ = [
    "Traits",
    "brightest_of",
    "check_model_protocol",
    "coarsened",
    "constant_gain_of",
    "darkest_of",
    "declared_lipschitz",
    "encoded",
    "entered",
    "evened",
    "factor_of",
    "finished",
    "has_adjoint",
    "knows_photons",
    "leading_axes_of",
    "levelled",
    "lipschitz_of",
    "lower_bound_of",
    "misfit_of",
    "missing_of",
    "of_one_channel",
    "open_steps",
    "part_of",
    "poisson_term_of",
    "possible_range_of",
    "reach_of",
    "reshaped",
    "residual_of",
    "rule_traits",
    "saturated_of",
    "simulated",
    "spatial_ndim_of",
    "stretched_term_of",
    "takes_mask",
    "traits_of",
    "warnings_of",
]


def check_model_protocol(model: object) -> None:
    """Raise an error if the object is not a model."""
    if isinstance(model, type) or not hasattr(model, "data_term"):
        raise TypeError(f"model must be a model such as plugplay.models.Deblurring(kernel); got {model!r}")


def has_adjoint(model: Model) -> bool:
    """Tell whether a model is linear and has its transpose."""
    return hasattr(model, "adjoint")


def leading_axes_of(model: Model) -> int:
    """Return the number of axes of an observation before the spatial ones, 0 by default."""
    return int(getattr(model, "leading_axes", 0))


def spatial_ndim_of(model: Model, given: int | None) -> int:
    """Return the number of spatial axes: that of the model, the given one, or 2."""
    said: int | None = getattr(model, "spatial_ndim", None)
    if said is not None and given is not None and said != given:
        raise ValueError(f"spatial_ndim is {given}, but {type(model).__name__} works on {said} spatial axes")
    return said or given or 2


def traits_of(model: Model, y: FloatArray, *, spatial_ndim: int) -> Traits:
    """Return the model's own traits, or cautious ones measured from `forward` and `adjoint`.

    The ratio of unknowns to samples, the norm of G (by power iteration) and the response to a constant image are
    measured. The noise that the model's step leaves is assumed to be coloured.
    """
    own = getattr(model, "traits", None)
    if own is not None:
        traits = own(y)
        if not isinstance(traits, Traits):
            raise TypeError(f"{type(model).__name__}.traits must return plugplay.models.Traits; got {traits!r}")
        return traits
    traits = Traits(spatial_ndim=spatial_ndim)
    adjoint = getattr(model, "adjoint", None)
    if adjoint is None or y.dtype.kind != "f":
        return traits
    x = np.random.default_rng(0).standard_normal(adjoint(y).shape).astype(y.dtype)
    unknowns = x.size / y.size
    norm = POWER_MARGIN * math.sqrt(largest_eigenvalue(lambda x: adjoint(model.forward(x)), x))
    gain = constant_gain_of(model.forward(np.ones_like(x)))
    return replace(traits, unknowns_per_sample=unknowns, norm=norm, constant_gain=gain)


def constant_gain_of(seen: FloatArray) -> float | None:
    """Return c if `seen`, the observation of a constant image of 1, is c everywhere; else None."""
    constant = float(seen.mean())
    steady = bool(np.all(np.abs(seen - constant) <= 1e-4 * max(abs(constant), 1e-12)))
    return constant if steady else None


def declared_lipschitz(data_term: DataTerm) -> float | None:
    """Return the Lipschitz constant of the gradient of f, if the data term declares it."""
    own: float | None = getattr(data_term, "lipschitz", None)
    return None if own is None else float(own)


def lipschitz_of(data_term: DataTerm) -> float:
    """Return the Lipschitz constant of the gradient of f: the data term's own, or measured by power iteration."""
    own = declared_lipschitz(data_term)
    if own is not None:
        return own
    x = data_term.start()
    ground = data_term.gradient(x)
    direction = np.random.default_rng(0).standard_normal(x.shape).astype(x.dtype)
    return POWER_MARGIN * largest_eigenvalue(lambda d: data_term.gradient(x + d) - ground, direction)


def knows_photons(model: Model) -> bool:
    """Tell whether a model has a data term for noise that grows with the signal."""
    return hasattr(model, "poisson_term")


def poisson_term_of(model: Model, y: FloatArray, noise: PoissonGaussian) -> PoissonDataTerm:
    """Return the data term for noise that grows with the signal of a model that `knows_photons`."""
    term: PoissonDataTerm = model.poisson_term(y, noise)  # type: ignore[attr-defined]  # optional
    return term


def stretched_term_of(model: Model, y: FloatArray, *, sky: Sky, tau: float) -> PoissonDataTerm:
    """Return the data term for a star field of a model that `knows_photons`."""
    term: PoissonDataTerm = model.stretched_term(y, sky=sky, tau=tau)  # type: ignore[attr-defined]  # optional
    return term


def possible_range_of(data_term: DataTerm) -> tuple[float, float] | None:
    """Return the range of the denoiser's input, if the data term declares it."""
    own: tuple[float, float] | None = getattr(data_term, "possible", None)
    return own


def levelled(data_term: DataTerm, x: FloatArray, image: FloatArray) -> FloatArray:
    """Return the image of x with its missing constant added, if the data term knows it."""
    return image + image.dtype.type(missing_of(data_term, x))


def finished(data_term: DataTerm, image: FloatArray) -> FloatArray:
    """Return the restored image as the data term hands it out: without what can only be wrong, if it knows of that."""
    own = getattr(data_term, "finished", None)
    return image if own is None else own(image)


def missing_of(data_term: DataTerm, x: FloatArray) -> float:
    """Return the constant that an image lacks, on the scale of the observation; 0 if the data term does not know it."""
    own = getattr(data_term, "missing", None)
    return 0.0 if own is None else float(own(x))


def rule_traits(data_term: DataTerm, traits: Traits) -> Traits:
    """Return the traits from which parameters are chosen.

    A star field is sky nearly everywhere, and the power of the sky is that of noise, so the observation decides none of
    its frequencies.
    """
    if possible_range_of(data_term) is None or traits.spectrum is None:
        return traits
    return replace(traits, spectrum=np.zeros_like(traits.spectrum))


def coarsened(model: Model, factor: int) -> Model | None:
    """Return the model for pixels that are `factor` times as wide; None if it cannot be made coarser."""
    own = getattr(model, "coarsened", None)
    return None if own is None else own(factor)


def encoded(model: Model, transfer: str) -> Model | None:
    """Return the model of the values that encode what this one observes of light; None if there is none."""
    own = getattr(model, "encoded", None)
    return None if own is None else own(transfer)


def reshaped(model: Model, reshaping: Reshaping) -> Model | None:
    """Return the model with a stretched or turned kernel; None if its kernel must not be changed, or if it has none."""
    own = getattr(model, "reshaped", None)
    return None if own is None else own(reshaping)


def lower_bound_of(data_term: DataTerm) -> float:
    """Return the constraint x >= bound of a data term; minus infinity if there is none."""
    return float(getattr(data_term, "lower_bound", -math.inf))


def factor_of(model: Model) -> int:
    """Return the factor by which the image is larger than the observation, 1 by default."""
    return int(getattr(model, "factor", 1))


def reach_of(model: Model) -> int:
    """Return how far, in samples, the kernel of a model reaches; 0 if it has none."""
    kernel = getattr(model, "kernel", None)
    return 0 if kernel is None else -(-max(np.shape(kernel)) // (2 * factor_of(model)))


def takes_mask(model: Model) -> bool:
    """Tell whether a model accepts a mask of observed samples; see `part_of`."""
    return "mask" in getattr(model, "__dataclass_fields__", {})


def part_of(model: Model, observed: NDArray[np.bool_] | None, *, whole: bool = False) -> Model:
    """Return the model for a part of an image in which these pixels were observed.

    A part has an unknown boundary, a `whole` image that of the model.
    """
    names = {name for name, about in getattr(model, "__dataclass_fields__", {}).items() if about.init}
    changes: dict[str, object] = {"boundary": "unknown"} if "boundary" in names and not whole else {}
    if "mask" in names:
        changes["mask"] = observed
    elif observed is not None:
        raise ValueError(
            f"pixels are missing (NaN, or by the mask), but {type(model).__name__} does not support a mask"
        )
    return replace(model, **changes) if changes else model  # type: ignore[type-var]  # it has fields, so it is a dataclass


def of_one_channel(model: Model, traits: Traits, y: NDArray[Any]) -> Model | None:
    """Return the model of one channel of an observation whose channels are all equal where they were observed.

    None if they differ, or if the model may treat them differently.

    Parameters
    ----------
    model, traits : Model, Traits
        The model and its traits.
    y : array
        The observation, with channels last if it has any.
    """
    if not traits.alike or y.ndim != traits.spatial_ndim + 1 or y.shape[-1] < 2:
        return None
    seen = traits.observed
    for channel in range(1, y.shape[-1]):
        same = y[..., channel] == y[..., 0]
        if seen is not None:
            if not np.array_equal(seen[..., channel], seen[..., 0]):
                return None
            same |= ~seen[..., 0]
        if not same.all():
            return None
    return part_of(model, seen[..., 0], whole=True) if seen is not None and takes_mask(model) else model


def darkest_of(data_term: DataTerm) -> float:
    """Return the expected minimum of all pixels; minus infinity if the data term does not declare it."""
    return float(getattr(data_term, "darkest", -math.inf))


def brightest_of(data_term: DataTerm, usual: float) -> float:
    """Return the expected maximum of all pixels: that which the data term declares, else the usual one."""
    return float(getattr(data_term, "brightest", usual))


def saturated_of(data_term: DataTerm) -> NDArray[np.bool_] | None:
    """Return which pixels of the observed frame have saturated; None if none has, or the data term does not care."""
    full: NDArray[np.bool_] | None = getattr(data_term, "saturated", None)
    return None if full is None else data_term.crop(full)  # type: ignore[arg-type,return-value]  # of any dtype


def residual_of(data_term: DataTerm, x: FloatArray) -> FloatArray | None:
    """Return G x - y, or None if the data term has no residual."""
    own = getattr(data_term, "residual", None)
    return None if own is None else own(x)


def misfit_of(data_term: DataTerm, x: FloatArray) -> FloatArray | None:
    """Return G x - y without weights, or None if the data term has but one residual."""
    own = getattr(data_term, "misfit", None)
    return None if own is None else own(x)


def simulated(data_term: DataTerm, x: FloatArray, rng: np.random.Generator) -> FloatArray | None:
    """Return an observation of x with noise as the data term assumes it, or None if it cannot tell."""
    own = getattr(data_term, "simulated", None)
    return None if own is None else own(x, rng)


def evened(data_term: DataTerm, image: FloatArray) -> FloatArray:
    """Return an image on the scale on which its noise is uniform, which some data terms transform it to."""
    own = getattr(data_term, "even", None)
    return image if own is None else own(image)


def entered(data_term: DataTerm, image: FloatArray) -> FloatArray:
    """Return an x of the data term whose crop is the image; an image in the shape of x is returned as it is."""
    own = getattr(data_term, "enter", None)
    return image if own is None or image.shape == tuple(data_term.shape) else own(image)


def is_mirrored(data_term: DataTerm) -> bool:
    """Tell whether x beyond the frame is the mirror image of what is inside, which `enter` continues it by."""
    return bool(getattr(data_term, "mirrored", False))


def open_steps(data_term: DataTerm, rtol: float | None = None) -> ProxSession:
    """Return the proximal steps of one restoration: the data term's session if it offers one, else itself.

    Parameters
    ----------
    data_term : DataTerm
        The data term.
    rtol : float, optional
        The relative residual that iterative steps need to reach; by default that of exact steps.
    """
    if isinstance(data_term, WarmDataTerm):
        return data_term.session() if rtol is None else data_term.session(rtol)
    return _Steps(data_term)


def warnings_of(steps: ProxSession) -> tuple[str, ...]:
    """Return the warnings of a restoration's steps, if the session has any."""
    own = getattr(steps, "warnings", None)
    return () if own is None else tuple(own())


def known_fidelity(steps: ProxSession) -> float:
    """Return f(x) after the last step if the session knows it without computing it; else NaN."""
    own = getattr(steps, "fidelity", None)
    return math.nan if own is None else float(own())


class _Steps:
    """The steps of a data term without sessions."""

    def __init__(self, data_term: DataTerm) -> None:
        self._data_term = data_term

    def prox(self, v: FloatArray, rho: float) -> FloatArray:
        return self._data_term.prox(v, rho)

    def warnings(self) -> tuple[str, ...]:
        return ()
