"""Methods: everything that can stand in a row of a table, from interpolation to Plug-and-Play ADMM.

Each is a frozen dataclass that holds all its parameters, so that a cell of a table can be recognised by them, and runs
on one thread: cells run beside each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

import numpy as np

from plugplay import Constant, denoisers, pnp_admm, restore, single_photon
from plugplay.models import SinglePhoton, SuperResolution
from plugplay_paper.baselines.convolutional import convolutional_network
from plugplay_paper.baselines.gaussian_process import gaussian_process_regression
from plugplay_paper.baselines.self_exemplars import self_exemplars
from plugplay_paper.baselines.sparse_coding import sparse_coding
from plugplay_paper.baselines.statistical import statistical_prediction
from plugplay_paper.denoising import LimitedStrength, denoiser_for
from plugplay_paper.model_steps import ClosedForm, ModelStep

if TYPE_CHECKING:
    from collections.abc import Callable

    from plugplay import Adaptive, Monotone, Result, State
    from plugplay.denoisers import Denoiser
    from plugplay_paper.arrays import FloatArray
    from plugplay_paper.problems import Observation

__all__ = [
    "Automatic",
    "ConvolutionalNetwork",
    "FirstGuess",
    "GaussianProcess",
    "ImagesFromBits",
    "Method",
    "PlugAndPlay",
    "Restored",
    "Schedule",
    "SelfExemplars",
    "SparseCoding",
    "StatisticalPrediction",
    "TotalVariationADMM",
]

Schedule: TypeAlias = "Constant | Monotone | Adaptive"


@dataclass(frozen=True, eq=False)
class Restored:
    """What a method returns: the image, and the number of iterations if it iterates."""

    image: FloatArray
    iterations: int | None = None

    @classmethod
    def by(cls, result: Result) -> Restored:
        """Take over the result of Algorithm 1."""
        return cls(result.image, len(result.history))


class Method(Protocol):
    """A frozen dataclass that restores an observation."""

    def restore(self, observation: Observation, watch: Callable[[State], object] | None = None) -> Restored:
        """Restore the image; `watch` sees every iteration of methods that are Algorithm 1."""
        ...


@dataclass(frozen=True)
class FirstGuess:
    """Where Algorithm 1 starts.

    For super-resolution that is bicubic interpolation, for photons the maximum-likelihood estimate in closed form, for
    missing pixels the nearest one that was observed, for blur the observation.
    """

    def restore(self, observation: Observation, watch: Callable[[State], object] | None = None) -> Restored:  # noqa: ARG002
        """Return the start."""
        return Restored(observation.data_term().start())


@dataclass(frozen=True, kw_only=True)
class PlugAndPlay:
    """Algorithm 1 with parameters given by hand.

    Attributes
    ----------
    lam : float
        Lambda.
    schedule : Schedule
        How rho grows.
    denoiser : str
        Its name.
    max_sigma : float
        Limit of the denoiser's sigma; see `LimitedStrength`.
    tol, max_iter
        When to stop.
    assumed : SuperResolution, optional
        The model to restore with, if not the one that made the data.
    random_start : int, optional
        Seed of a uniformly random first guess, instead of the data term's.
    sessions : bool
        Whether a denoiser may remember something from iteration to iteration, as BM3D does to be faster. Figures that
        follow the iterations do without: when BM3D forms its groups anew, the PSNR drops for a moment.
    step : ModelStep
        How the model's step is taken.
    """

    lam: float
    schedule: Schedule
    denoiser: str = "bm3d"
    max_sigma: float = 0.4
    tol: float = 1e-3
    max_iter: int = 150
    assumed: SuperResolution | None = None
    random_start: int | None = None
    sessions: bool = True
    step: ModelStep = ClosedForm()  # noqa: RUF009

    def restore(self, observation: Observation, watch: Callable[[State], object] | None = None) -> Restored:
        """Run the loop."""
        model = observation.model if self.assumed is None else self.assumed
        term = self.step.data_term(model, observation.y)
        start = None
        if self.random_start is not None:
            start = np.random.default_rng(self.random_start).random(term.shape, dtype=np.float32)
        denoiser = LimitedStrength(denoiser_for(model, self.denoiser), self.max_sigma)
        result = pnp_admm(
            term,
            denoiser if self.sessions else denoiser.__call__,
            schedule=self.schedule,
            lam=self.lam,
            tol=self.tol,
            max_iter=self.max_iter,
            start=start,
            callback=watch,
        )
        return Restored.by(result)


@dataclass(frozen=True)
class Automatic:
    """What a user gets who gives nothing but data, model and denoiser: noise is estimated, parameters are chosen.

    For photons that is `plugplay.single_photon`, for everything else `plugplay.restore`.
    """

    denoiser: str = "bm3d"

    def restore(self, observation: Observation, watch: Callable[[State], object] | None = None) -> Restored:
        """Restore."""
        if isinstance(observation.model, SinglePhoton):
            # The denoiser that `single_photon` has by default, if it is not another one.
            denoiser = denoisers.get("bm3d", profile="high") if self.denoiser == "bm3d" else self.denoiser
            return Restored.by(_reconstructed(observation, observation.model, denoiser, watch=watch))
        colour = observation.y.ndim == 3
        result = restore(
            observation.y,
            observation.model,
            denoiser=self.denoiser,
            channel_axis=-1 if colour else None,
            callback=watch,
            workers=1,
        )
        return Restored.by(result)


@dataclass(frozen=True, kw_only=True)
class TotalVariationADMM:
    r"""Chan and Lu's method for photons: minimise :math:`f(x) + \mu \|x\|_{TV}` by ADMM with a constant rho.

    It is Algorithm 1 with the proximal operator of total variation for a denoiser, and converges because that is
    convex.

    Attributes
    ----------
    sigma : float
        The denoiser's strength; `plugplay.denoisers.tv.weight` of it is :math:`\mu / \rho`.
    rho : float
        The penalty.
    tol, max_iter
        When to stop.
    """

    sigma: float
    rho: float
    tol: float = 1e-3
    max_iter: int = 100

    def restore(self, observation: Observation, watch: Callable[[State], object] | None = None) -> Restored:
        """Run ADMM."""
        result = pnp_admm(
            observation.data_term(),
            denoiser_for(observation.model, "tv"),
            schedule=Constant(self.rho),
            lam=self.rho * self.sigma**2,
            tol=self.tol,
            max_iter=self.max_iter,
            clip=None,  # the proximal operator is one on all of the line, and the theory wants it whole
            callback=watch,
        )
        return Restored.by(result)


@dataclass(frozen=True)
class ImagesFromBits:
    """Stabilise the variance of the bits' sums, denoise once, go back: one call of `plugplay.single_photon`."""

    denoiser: str = "bm3d"

    def restore(self, observation: Observation, watch: Callable[[State], object] | None = None) -> Restored:  # noqa: ARG002
        """Denoise once."""
        sensor = observation.model
        if not isinstance(sensor, SinglePhoton):
            raise TypeError(f"Images from Bits needs single-photon data; got those of {type(sensor).__name__}")
        denoiser = denoisers.get(self.denoiser, workers=1)
        return Restored(_reconstructed(observation, sensor, denoiser, method="one-shot").image)


@dataclass(frozen=True)
class GaussianProcess:
    """Super-resolution by Gaussian process regression (GPR): see `plugplay_paper.baselines`."""

    def restore(self, observation: Observation, watch: Callable[[State], object] | None = None) -> Restored:  # noqa: ARG002
        """Enlarge the image."""
        return Restored(gaussian_process_regression(observation.y, _factor(observation)))


@dataclass(frozen=True)
class SparseCoding:
    """Super-resolution by sparse coding (SR): see `plugplay_paper.baselines`."""

    def restore(self, observation: Observation, watch: Callable[[State], object] | None = None) -> Restored:  # noqa: ARG002
        """Enlarge the image."""
        return Restored(sparse_coding(observation.y, _factor(observation)))


@dataclass(frozen=True)
class ConvolutionalNetwork:
    """Super-resolution by a convolutional network (DCNN): see `plugplay_paper.baselines`."""

    def restore(self, observation: Observation, watch: Callable[[State], object] | None = None) -> Restored:  # noqa: ARG002
        """Enlarge the image."""
        return Restored(convolutional_network(observation.y, _factor(observation)))


@dataclass(frozen=True)
class StatisticalPrediction:
    """Super-resolution by statistical prediction of sparse codes (SPSR): see `plugplay_paper.baselines`."""

    def restore(self, observation: Observation, watch: Callable[[State], object] | None = None) -> Restored:  # noqa: ARG002
        """Enlarge the image."""
        return Restored(statistical_prediction(observation.y, _factor(observation)))


@dataclass(frozen=True)
class SelfExemplars:
    """Super-resolution from transformed self-exemplars (TSE): see `plugplay_paper.baselines`."""

    def restore(self, observation: Observation, watch: Callable[[State], object] | None = None) -> Restored:  # noqa: ARG002
        """Enlarge the image."""
        return Restored(self_exemplars(observation.y, _factor(observation)))


def _reconstructed(
    observation: Observation,
    sensor: SinglePhoton,
    denoiser: str | Denoiser,
    *,
    method: Literal["auto", "one-shot"] = "auto",
    watch: Callable[[State], object] | None = None,
) -> Result:
    """Reconstruct an image from photons by `plugplay.single_photon`."""
    return single_photon(
        observation.y,
        oversampling=sensor.oversampling,
        gain=sensor.gain,
        threshold=sensor.threshold,
        dark=sensor.dark,
        efficiency=sensor.efficiency,
        method=method,
        denoiser=denoiser,
        channel_axis=-1 if observation.y.ndim == 3 and sensor.frames == 1 else None,
        callback=watch,
        workers=1,
    )


def _factor(observation: Observation) -> int:
    if not isinstance(observation.model, SuperResolution):
        raise TypeError(f"the method enlarges images; got data of {type(observation.model).__name__}")
    return observation.model.factor
