"""`Traits`: the properties of a model, so that no other code has to know its class."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from plugplay.arrays.checks import BoolArray, check_choice, check_integer, check_number, frozen
from plugplay.arrays.records import Fingerprinted

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["NEARLY_EXACT", "SETTLED_SIGMA", "Leaves", "Observes", "Traits"]

NEARLY_EXACT = 1.5 / 255
"""For super-resolution, data with less noise than this are treated as exact."""

SETTLED_SIGMA = 0.12
"""Super-resolution of such data decides structure above this sigma; below, rho grows faster and BM3D is denser."""

Observes = Literal["intensities", "counts", "complex", "projections"]
Leaves = Literal["white", "nearly white", "coloured", "shot"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Traits(Fingerprinted):
    r"""Properties of a model and its observation, for automatic parameters and denoisers.

    Attributes
    ----------
    observes : {"intensities", "counts", "complex", "projections"}
        What an observation contains: an image on the scale of the restored one with Gaussian noise; photon counts,
        whose statistics the model knows; complex samples; or weighted sums of pixels, which are not an image, so that
        neither noise nor range can be estimated from them.
    spatial_ndim : int
        Spatial axes of the image, 2 or 3; a further axis holds channels.
    unknowns_per_sample : float
        Unknown pixels for each observed value: 1 for denoising and deblurring, K² for super-resolution by K, the
        inverse of the observed share for a mask, 1/n if n photon counters look at each pixel.
    decimation : float
        Distance between samples, in pixels of the image, along each axis; above 1, detail is aliased into the samples
        and looks like noise.
    spectrum : complex array, optional
        :math:`\hat h`, the transfer function of G before sampling, on a regular grid of frequencies in the layout of an
        FFT. None if the operator is not a convolution.
    norm : float
        The largest singular value of G; infinite if it is not known.
    constant_gain : float, optional
        c if G maps a constant image of 1 to a constant c; None if it does not.
    pointwise : bool
        Whether each sample depends on one pixel only, so that a transform of the values commutes with G.
    leaves : {"white", "nearly white", "coloured", "shot"}
        What the model's step leaves to the denoiser: white noise, noise that is nearly white in all calls of a loop
        (mild blur), noise whose colour comes from inverting G, or noise that varies with the signal.
    weight : float, optional
        The natural lambda: 1 if f is a complete negative log-likelihood. None if f is :math:`\tfrac12 \|Gx - y\|^2`,
        whose natural weight is the variance of the noise.
    noise_spectrum : array of float, optional
        Relative power of the noise that is left to the denoiser, on a regular grid of frequencies in the layout of an
        FFT; None if it is white or not known.
    noise_planes : (float, float, float), optional
        The standard deviation of the noise in luminance and two colour differences, relative to that in a channel; None
        if the noise is about independent in all channels.
    noise : float, optional
        Standard deviation of the noise, if the model defines it. In the traits that a denoiser gets it is always the
        level that was given or estimated.
    observed : array of bool, optional
        True where a sample was observed, in the shape of the observation; None means everywhere.
    alike : bool
        Whether the model treats all channels of an image alike, except for what `observed` says. If they are equal, one
        of them is then restored for all.
    natural : bool
        Whether the denoiser sees something like a photograph, so that what was learned on photographs applies. Star
        fields and images from few photons are not like photographs.

    Examples
    --------
    >>> import numpy as np, plugplay as pp
    >>> traits = pp.models.SuperResolution(2).traits(np.zeros((8, 8)))
    >>> traits.unknowns_per_sample, traits.leaves
    (4.0, 'coloured')
    """

    observes: Observes = "intensities"
    spatial_ndim: int = 2
    unknowns_per_sample: float = 1.0
    decimation: float = 1.0
    spectrum: NDArray[np.complex128] | None = None
    norm: float = math.inf
    constant_gain: float | None = None
    pointwise: bool = False
    leaves: Leaves = "coloured"
    weight: float | None = None
    noise_spectrum: NDArray[np.float64] | None = None
    noise_planes: tuple[float, float, float] | None = None
    noise: float | None = None
    observed: BoolArray | None = None
    alike: bool = False
    natural: bool = True

    def __post_init__(self) -> None:
        check_choice(self.observes, "traits.observes", ("intensities", "counts", "complex", "projections"))
        check_choice(self.leaves, "traits.leaves", ("white", "nearly white", "coloured", "shot"))
        check_integer(self.spatial_ndim, "traits.spatial_ndim", minimum=2)
        check_number(self.unknowns_per_sample, "traits.unknowns_per_sample", above=0)
        check_number(self.decimation, "traits.decimation", minimum=1)
        if self.spectrum is not None:
            object.__setattr__(self, "spectrum", frozen(self.spectrum))
        if self.noise_spectrum is not None:
            object.__setattr__(self, "noise_spectrum", frozen(self.noise_spectrum))
