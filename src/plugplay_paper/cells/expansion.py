"""The cell that looks for Appendix A's counter-example: two images that a denoiser drives apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from plugplay import Constant, check_denoiser, pnp_admm
from plugplay.models import Inpainting
from plugplay_paper.denoising import denoiser_for
from plugplay_paper.fingerprints import Fingerprinted
from plugplay_paper.images import TestImage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay_paper.arrays import FloatArray

__all__ = ["Expansion", "ExpansionRecord"]

# RMS distance below which two images differ by rounding, and their kappa means nothing.
MIN_DISTANCE = 1e-6


@dataclass(frozen=True, eq=False)
class ExpansionRecord:
    """Two pairs of images that a denoiser may drive apart.

    Attributes
    ----------
    kappa : float
        The largest ratio of squared distances after and before denoising, among inputs of the denoiser.
    iterations : tuple of int
        Which two inputs it belongs to.
    pairs : int
        How many pairs were looked at.
    expansive : int
        How many of them have a kappa above 1.
    searched_kappa : float
        The largest that the search of `plugplay.check_denoiser` finds.
    pair, searched_pair : arrays of shape (4, H, W)
        x, y, D(x) and D(y) of both.
    """

    kappa: float
    iterations: tuple[int, ...]
    pairs: int
    expansive: int
    searched_kappa: float
    pair: NDArray[np.float32]
    searched_pair: NDArray[np.float32]


@dataclass(frozen=True, eq=False, kw_only=True)
class Expansion(Fingerprinted):
    """Inpaint with a constant rho, as the paper did, and compare all inputs of the denoiser with one another.

    Attributes
    ----------
    image : TestImage
        What is inpainted.
    denoiser : str
        Its name.
    missing : float
        The fraction of pixels that is missing.
    sigma : float
        The denoiser's strength, constant because rho is.
    rho : float
        The penalty.
    count : int
        How many iterations to run.
    """

    image: TestImage
    denoiser: str
    missing: float = 0.5
    sigma: float = 0.04
    rho: float = 1.0
    count: int = 25

    @property
    def record(self) -> type[ExpansionRecord]:
        """What `measure` returns."""
        return ExpansionRecord

    @property
    def label(self) -> str:
        """Denoiser and image."""
        return f"expansiveness of {self.denoiser}, {self.image.name}"

    @property
    def cost(self) -> float:
        """By the number of pixels."""
        return 10.0 + 2 * self.count * self.image.pixels.size / 1e6

    @property
    def alone(self) -> bool:
        """It measures no time."""
        return False

    def measure(self) -> ExpansionRecord:
        """Run it."""
        truth = self.image.pixels.astype(np.float64)
        model = Inpainting(np.random.default_rng(0).random(truth.shape) >= self.missing)
        denoise = denoiser_for(model, self.denoiser)
        inputs: list[FloatArray] = []
        outputs: list[FloatArray] = []

        def watched(image: FloatArray, sigma: float, /) -> FloatArray:
            inputs.append(image.copy())
            outputs.append(denoise(image, sigma))
            return outputs[-1]

        pnp_admm(
            model.data_term(model.simulate(truth)),
            watched,
            schedule=Constant(self.rho),
            lam=self.rho * self.sigma**2,
            tol=0.0,
            max_iter=self.count,
        )
        kappas = {
            (i, j): float(np.sum((outputs[i] - outputs[j]) ** 2) / np.sum((inputs[i] - inputs[j]) ** 2))
            for j in range(len(inputs))
            for i in range(j)
            if np.sqrt(np.mean((inputs[i] - inputs[j]) ** 2)) > MIN_DISTANCE
        }
        if not kappas:
            raise ValueError(
                f"all {len(inputs)} inputs of the denoiser are equal, because {self.image.name} is constant; "
                "an image with some structure is needed"
            )
        found = check_denoiser(denoise, effort="quick").expansiveness
        assert found is not None  # it is None only for denoisers that break the contract
        i, j = max(kappas, key=lambda pair: kappas[pair])
        return ExpansionRecord(
            kappa=kappas[i, j],
            iterations=(i + 1, j + 1),
            pairs=len(kappas),
            expansive=sum(kappa > 1 for kappa in kappas.values()),
            searched_kappa=found.kappa,
            pair=np.stack([inputs[i], inputs[j], outputs[i], outputs[j]]).astype(np.float32),
            searched_pair=np.stack([found.x, found.y, found.denoised_x, found.denoised_y]).astype(np.float32),
        )
