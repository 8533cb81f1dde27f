"""From options to plans: the protocol of a command's verb, and the settings that all commands share."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from plugplay.cli.options import Common, ImageCommon, UsageError
from plugplay.cli.values import crop_box, data_range, noise_level, size_limit

if TYPE_CHECKING:
    import numpy as np

    from plugplay.cli.jobs import Job
    from plugplay.cli.sources import Page, Source
    from plugplay.denoisers.base import Denoiser
    from plugplay.models.base import Model
    from plugplay.noise.growing import PoissonGaussian
    from plugplay.plan import Plan

__all__ = ["Settings", "Verb"]


class Verb(Protocol):
    """What is specific to a command: how its sources are read, and the model of its images."""

    @property
    def name(self) -> str:
        """The command's name."""
        ...

    def files(self) -> dict[str, Path]:
        """Return the files, or folders of them, that are read beside the input, by the option that names each."""
        ...

    def options(self) -> dict[str, Any]:
        """Return what decides about the result, as values that JSON can hold."""
        ...

    def read(self, path: Path, job: Job, settings: Settings) -> Source:
        """Read the source of a job."""
        ...

    def model(self, source: Source, page: Page) -> Model:
        """Return the model of a page."""
        ...

    def size(self, path: Path, settings: Settings) -> str:
        """Say how much there is to do for a source."""
        ...


@dataclass(frozen=True)
class Settings:
    """The settings of a restoration that all commands share; attributes as in `plugplay.restore`.

    Attributes
    ----------
    linear : {"auto", "on", "off"}
        Whether the values of a file are decoded to light.
    crop : (int, int, int, int), optional
        x, y, width and height of the part that is restored.
    limit : int, optional
        Bytes that the pixels of a file may take.
    reference : Path, optional
        The true image, or a folder of them.
    """

    denoiser: str
    weights: Path | None = None
    noise: float | PoissonGaussian | None = None
    exact_noise: bool = False
    offset: float | None = None
    strength: float = 1.0
    iteration: str = "admm"
    max_iter: int | None = None
    tol: float | None = None
    tune: str | None = None
    seed: int = 0
    data_range: tuple[float, float] | None = None
    linear: Literal["auto", "on", "off"] = "auto"
    shared_parameters: bool = False
    crop: tuple[int, int, int, int] | None = None
    workers: int | None = field(default=None, metadata={"decides": False})
    limit: int | None = field(default=None, metadata={"decides": False})
    reference: Path | None = field(default=None, metadata={"decides": False})

    @classmethod
    def of(cls, common: Common) -> Settings:
        """Read the options; errors are found here, before anything is done."""
        from plugplay import denoisers

        if common.denoiser not in denoisers.available():
            raise UsageError(
                f"--denoiser: unknown denoiser {common.denoiser!r}; available: {', '.join(denoisers.available())}"
            )
        if not 0 < common.strength < float("inf"):
            raise UsageError(f"--strength: a number above 0 is needed; got {common.strength:g}")
        image = common if isinstance(common, ImageCommon) else None
        settings = cls(
            denoiser=common.denoiser,
            weights=common.weights,
            noise=None if image is None else noise_level(image.noise),
            exact_noise=image is not None and image.exact_noise,
            offset=None if image is None else image.offset,
            strength=common.strength,
            iteration=common.iteration.value,
            max_iter=common.max_iter,
            tol=common.tol,
            tune=None if image is None or image.tune is None else image.tune.value,
            seed=0 if image is None else image.seed,
            shared_parameters=image is not None and image.shared_parameters,
            data_range=None if image is None else data_range(image.data_range),
            linear="auto" if image is None else image.linear.value,
            crop=None if image is None else crop_box(image.crop),
            workers=common.workers,
            limit=size_limit(common.max_size),
            reference=common.reference,
        )
        if settings.offset is not None and isinstance(settings.noise, float):
            raise UsageError("--offset: a black level is for photon noise; use --noise poisson, or leave --noise out")
        if settings.exact_noise and settings.noise is None:
            raise UsageError("--exact-noise: which level is to be kept? Give --noise, e.g. --noise 5/255")
        if settings.weights is not None:
            settings._check_weights(settings.weights)
        return settings

    def options(self) -> dict[str, Any]:
        """Return what decides about the result, as values that JSON can hold."""
        decide = {
            name: getattr(self, name)
            for name, described in self.__dataclass_fields__.items()
            if described.metadata.get("decides", True) and name != "weights"
        }
        return {**decide, "noise": repr(self.noise)}

    def plan(self, page: Page, model: Model) -> Plan:
        """Return the plan for a page; the file's own values are passed to `plugplay.prepare`."""
        import plugplay as pp

        return pp.prepare(
            page.pixels,
            model,
            **self.arguments(page.pixels.dtype),
            transfer=page.transfer,
            noise_floor=page.noise_floor,
            channel_axis=page.channel_axis,
            reference=page.reference,
            workers=self.workers,
        )

    def arguments(self, dtype: np.dtype[Any]) -> dict[str, Any]:
        """Return the arguments of `plugplay.prepare` for every page whose pixels have this type."""
        return {
            "denoiser": self._denoiser,
            "noise": self._noise(dtype),
            "exact_noise": self.exact_noise,
            "strength": self.strength,
            "iteration": self.iteration,
            "max_iter": self.max_iter,
            "tol": self.tol,
            "tune": "sure" if self.tune == "sure" else None,
            "rng": None if self.tune is None else self.seed,
            "data_range": self.data_range,
        }

    def _noise(self, dtype: np.dtype[Any]) -> float | PoissonGaussian | None:
        """Return the noise, with the black level on the scale of the others."""
        if self.offset is None:
            return self.noise
        from plugplay.arrays.scale import nominal_range
        from plugplay.noise.growing import PoissonGaussian

        low, high = nominal_range(dtype, self.data_range)
        told = self.noise if isinstance(self.noise, PoissonGaussian) else PoissonGaussian()
        return PoissonGaussian(told.gain, told.read, offset=(self.offset - low) / (high - low))

    @functools.cached_property
    def _denoiser(self) -> str | Denoiser:
        from plugplay import denoisers

        return self.denoiser if self.weights is None else denoisers.get(self.denoiser, weights=self.weights)

    def _check_weights(self, weights: Path) -> None:
        if not weights.is_file():
            raise UsageError(f"--weights: there is no file {weights}")
        try:
            _ = self._denoiser
        except TypeError:
            raise UsageError(
                f"--weights: the denoiser {self.denoiser!r} takes none; it goes with learned denoisers"
            ) from None
