"""Models: what happened to the image."""

from plugplay.models.base import DataTerm, LinearGaussianModel, Model
from plugplay.models.deblurring import Deblurring
from plugplay.models.denoising import Denoising
from plugplay.models.inpainting import Inpainting
from plugplay.models.likelihoods.gaussian import LeastSquares
from plugplay.models.linear import Linear
from plugplay.models.single_photon import SinglePhoton
from plugplay.models.super_resolution import SuperResolution
from plugplay.traits import Traits

__all__ = [
    "DataTerm",
    "Deblurring",
    "Denoising",
    "Inpainting",
    "LeastSquares",
    "Linear",
    "LinearGaussianModel",
    "Model",
    "SinglePhoton",
    "SuperResolution",
    "Traits",
]
