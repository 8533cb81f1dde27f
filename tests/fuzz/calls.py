"""Hostile arguments to the public functions: a sound result, or an error that is ours, and never anything else."""

from __future__ import annotations

import copy
import dataclasses
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import plugplay as pp
from tests.fuzz.harness import DefectError
from tests.fuzz.values import BOUNDED, BrokenError, hostile_for, image

# What the documentation allows; ImageFileError and UsageError are ValueErrors.
ALLOWED = (ValueError, TypeError, FileNotFoundError)


@dataclasses.dataclass(frozen=True)
class Target:
    """A public function and how to call it well; `numeric` says that its result must be finite."""

    name: str
    function: Callable[..., Any]
    arguments: Callable[[np.random.Generator], dict[str, Any]]
    optional: tuple[str, ...] = ()


RESTORING = (
    *("denoiser", "noise", "lam", "schedule", "tol", "start", "clip", "reference", "channel_axis", "data_range"),
    *("callback", "workers", "tune", "rng", "strength", "spatial_ndim", "iteration", "no_such_option"),
)


def _cheap(rng: np.random.Generator, **others: Any) -> dict[str, Any]:
    denoiser = rng.choice(["gaussian", "tv", "median", "callable"])
    return {
        **others,
        "denoiser": (lambda x, sigma: x) if denoiser == "callable" else str(denoiser),
        "max_iter": 2,
        "workers": 1,
    }


def _kernel(rng: np.random.Generator) -> Any:
    return rng.choice([pp.kernels.gaussian(5, sigma=1.0), pp.kernels.box(5)])


def _mask(rng: np.random.Generator, y: Any) -> Any:
    return rng.random(np.shape(y)[:2]) < 0.7


def _deblurring(rng: np.random.Generator) -> dict[str, Any]:
    y = image(rng)
    boundary = str(rng.choice(["circular", "reflect", "unknown"]))
    return _cheap(rng, y=y, kernel=_kernel(rng), boundary=boundary)


def _inpainting(rng: np.random.Generator) -> dict[str, Any]:
    y = image(rng)
    return _cheap(rng, y=y, mask=_mask(rng, y))


def _photons(rng: np.random.Generator) -> dict[str, Any]:
    bits = (rng.random((int(rng.integers(1, 4)), 12, 16)) < rng.random()).astype(rng.choice(["u1", "?", "f8"]))
    return _cheap(rng, bits=bits, oversampling=int(rng.choice([1, 2, 4])))


def _used(make: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that makes a model and goes through all its methods."""

    def use(x: Any, noise: Any, rho: Any, seed: Any, **options: Any) -> Any:
        model = make(**options)
        if isinstance(model, pp.models.SinglePhoton):
            y = model.simulate(x, rng=seed)
        else:
            y = model.simulate(x, noise=noise, rng=seed)
        term = model.data_term(y)
        start = term.start()
        return (
            y,
            model.forward(x),
            start,
            term.prox(start, rho),
            term.value(start),
            term.gradient(start),
            term.crop(start),
        )

    return use


def _modelled(**makers: Callable[[np.random.Generator], Any]) -> Callable[[np.random.Generator], dict[str, Any]]:
    def arguments(rng: np.random.Generator) -> dict[str, Any]:
        x = rng.random((12, 16)).astype(rng.choice(["f4", "f8"]))
        return {"x": x, "noise": 0.02, "rho": 0.3, "seed": 0, **{name: make(rng) for name, make in makers.items()}}

    return arguments


def _schedule(make: Callable[..., Any]) -> Callable[..., Any]:
    def use(rho: Any, delta: Any, previous: Any, **options: Any) -> Any:
        return make(**options).next_rho(rho, delta, previous)

    return use


def _steps(**options: float) -> Callable[[np.random.Generator], dict[str, Any]]:
    return lambda rng: {"rho": 0.5, "delta": 0.1, "previous": None if rng.random() < 0.5 else 0.2, **options}


def targets() -> list[Target]:
    """Return everything that is called."""
    kernels, models = pp.kernels, pp.models
    mask = (np.arange(12 * 16).reshape(12, 16) % 3) > 0
    whole = ("boundary", "mask")
    return [
        Target("denoise", pp.denoise, lambda rng: _cheap(rng, y=image(rng)), RESTORING),
        Target("denoise", pp.denoise, lambda rng: _cheap(rng, y=image(rng, colour=True), channel_axis=-1), RESTORING),
        Target("deblur", pp.deblur, _deblurring, (*RESTORING, "mask", "boundary")),
        Target("inpaint", pp.inpaint, _inpainting, RESTORING),
        Target(
            "super_resolve",
            pp.super_resolve,
            lambda rng: _cheap(rng, y=image(rng), factor=2),
            (*RESTORING, "kernel", "offset", "boundary", "mask"),
        ),
        Target(
            "single_photon",
            pp.single_photon,
            _photons,
            (*RESTORING, "gain", "threshold", "dark", "efficiency", "frames"),
        ),
        Target("kernels.gaussian", kernels.gaussian, lambda rng: {"size": 5, "sigma": 1.0}),
        Target("kernels.box", kernels.box, lambda rng: {"size": 5}),
        Target("kernels.disk", kernels.disk, lambda rng: {"radius": 2.5}),
        Target("kernels.motion", kernels.motion, lambda rng: {"length": 7.0, "angle": 30.0}),
        Target("kernels.bicubic", kernels.bicubic, lambda rng: {"factor": 2}),
        Target("kernels.parse", kernels.parse, lambda rng: {"text": _word(rng)}, ("factor",)),
        Target("kernels.from_file", kernels.from_file, lambda rng: {"path": "missing.png"}),
        Target("models.Denoising", _used(models.Denoising), _modelled()),
        Target("models.Inpainting", _used(models.Inpainting), _modelled(mask=lambda rng: mask)),
        Target("models.Deblurring", _used(models.Deblurring), _modelled(kernel=_kernel), whole),
        Target(
            "models.SuperResolution",
            _used(models.SuperResolution),
            _modelled(factor=lambda rng: 2),
            ("kernel", "offset", *whole),
        ),
        Target(
            "models.SinglePhoton",
            _used(models.SinglePhoton),
            _modelled(oversampling=lambda rng: 2),
            ("frames", "gain", "threshold", "dark", "efficiency"),
        ),
        Target("Constant", _schedule(pp.Constant), _steps(rho0=0.5)),
        Target("Monotone", _schedule(pp.Monotone), _steps(rho0=0.5, gamma=1.2)),
        Target("Adaptive", _schedule(pp.Adaptive), _steps(rho0=0.5, gamma=1.2, eta=0.9)),
        Target("PoissonGaussian", pp.PoissonGaussian, lambda rng: {"gain": 0.1, "read": 0.01}),
        Target(
            "psnr",
            pp.psnr,
            lambda rng: {"image": rng.random((9, 9)), "reference": rng.random((9, 9))},
            ("border", "data_range"),
        ),
        Target(
            "io.count_ones",
            pp.io.photons.count_ones,
            lambda rng: {"source": (rng.random((3, 8, 16)) < 0.5).astype(np.uint8)},
            ("oversampling", "packed_axis", "bit_order", "frame_shape", "time_axis", "frames", "mask", "limit"),
        ),
        Target("io.linearise", pp.io.linearise, lambda rng: {"image": rng.random((5, 5)), "transfer": "srgb"}),
        Target("io.encode", pp.io.encode, lambda rng: {"light": rng.random((5, 5)), "transfer": "gamma:2.2"}),
        Target("io.parse_size", pp.io.parse_size, lambda rng: {"text": "12G"}),
        Target("io.read", pp.io.read, lambda rng: {"path": "missing.png"}, ("limit",)),
    ]


def _word(rng: np.random.Generator) -> str:
    words = [
        "gaussian:5,1",
        "motion:15,30",
        "disk:3",
        "box:5",
        "bicubic",
        "motion:",
        "disk:nan",
        "gaussian:1e9,1",
        "x:",
    ]
    word = str(rng.choice(words))
    if rng.random() < 0.5:
        place = int(rng.integers(len(word)))
        word = word[:place] + str(rng.choice(list(":,.-e9 \0n"))) + word[place + 1 :]
    return word


class Suite:
    """The call fuzzer."""

    def __init__(self, folder: Path) -> None:
        os.chdir(folder)
        self.targets = targets()
        rng = np.random.default_rng(0)
        for target in self.targets:  # compiles and imports what is needed, and shows that the sane calls are sane
            if target.name not in ("kernels.from_file", "kernels.parse", "io.read"):
                target.function(**target.arguments(rng))

    def run(self, rng: np.random.Generator) -> None:
        """Make one call, in which one to three arguments are hostile."""
        target = self.targets[int(rng.integers(len(self.targets)))]
        arguments = target.arguments(rng)
        names = [name for name in (*arguments, *target.optional) if name not in ("max_iter",)]
        count = int(rng.choice([1, 2, 3], p=[0.6, 0.3, 0.1]))
        for name in rng.choice(names, min(len(names), count), replace=False):
            arguments[str(name)] = hostile_for(str(name), rng)
        for name, most in BOUNDED.items():  # more is not wrong, only slow or large
            value = arguments.get(name)
            if isinstance(value, int | np.integer) and most < value < 10**5:
                arguments[name] = most
        self.check(target, arguments)

    def check(self, target: Target, arguments: dict[str, Any]) -> None:
        """Call, and look at what comes of it."""
        before = {name: copy.deepcopy(value) for name, value in arguments.items() if isinstance(value, np.ndarray)}
        shown = ", ".join(f"{name}={_shown(value)}" for name, value in arguments.items())
        try:
            with np.errstate(all="ignore"):
                result = target.function(**arguments)
        except BrokenError:
            return
        except RuntimeError as error:
            # What a denoiser raises or returns is reported with its name.
            if not str(error).startswith("denoiser "):
                raise DefectError(f"RuntimeError {_place(error)}\n{error}\n{target.name}({shown})") from error
            return
        except ALLOWED as error:
            text = str(error)
            if not text.strip():
                raise DefectError(f"{target.name}: {type(error).__name__} without a word\n{shown}") from error
            return
        except Exception as error:
            title = f"{type(error).__name__} {_place(error)}"
            raise DefectError(f"{title}\n{error}\n{target.name}({shown})") from error
        for name, value in before.items():
            if not _same(value, arguments[name]):
                raise DefectError(f"{target.name}: {name} was modified\n{shown}")
        if _finite(list(arguments.values())) and not _finite(result):
            raise DefectError(f"{target.name}: non-finite result\n{target.name}({shown})\n{result!r:.500}")


def _place(error: BaseException) -> str:
    """Return the innermost line of the package that an exception went through."""
    found, trace = "", error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if "plugplay" in file:
            found = f"in {Path(file).name}:{trace.tb_frame.f_code.co_name}"
        trace = trace.tb_next
    return found


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray):
        low, high = "", ""
        if value.dtype.kind in "biuf" and value.size:
            low, high = f"{value.min():.3g}", f"{value.max():.3g}"
        return f"<{value.dtype} {value.shape} {low}..{high}>"
    return f"{value!r:.80}"


def _same(first: Any, second: Any) -> bool:
    return first.dtype == second.dtype and first.shape == second.shape and first.tobytes() == second.tobytes()


def _finite(value: Any, *, depth: int = 0) -> bool:
    """Tell whether all numbers in a value, looking into records, are finite."""
    if depth > 4:
        return True
    if isinstance(value, np.ndarray):
        return value.dtype.kind not in "fc" or bool(np.isfinite(value).all())
    if isinstance(value, float | np.floating):
        return bool(np.isfinite(value))
    if isinstance(value, tuple | list):
        return all(_finite(item, depth=depth + 1) for item in value)
    if isinstance(value, pp.Result):
        return _finite(value.image)
    return True
