"""Recipes: the command line and the Python snippet for the same restoration."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from plugplay import io

if TYPE_CHECKING:
    from plugplay.web.task import Task

__all__ = ["Names", "command_line", "python_snippet"]


@dataclass(frozen=True)
class Names:
    """The user's file names, the suffix of the result, and whether the image has NaN pixels."""

    image: str
    suffix: str
    kernel: str = "kernel.png"
    mask: str = "mask.png"
    missing: bool = False

    @property
    def output(self) -> str:
        """The name of the result."""
        return f"{self.image.rpartition('.')[0] or self.image}-restored{self.suffix}"


def command_line(task: Task, names: Names) -> str:
    """Return the command that does the same; with a folder in place of the file it restores all files in it.

    Examples
    --------
    >>> from plugplay.web.task import Task
    >>> command_line(Task.parse({"kind": "deblur", "kernel": "disk:3"}), Names("my photo.jpg", ".jpg"))
    "plugplay deblur 'my photo.jpg' -o 'my photo-restored.jpg' --kernel disk:3"
    """
    words = ["plugplay", task.kind, names.image, "-o", names.output]
    if task.kind == "upscale":
        words += ["--factor", str(task.factor)]
    if task.kernel_file is not None:
        words += ["--kernel", names.kernel]
    elif task.kernel is not None and task.kernel != "bicubic":
        words += ["--kernel", task.kernel]
    if task.mask_file is not None and task.kind != "denoise":
        words += ["--mask", names.mask]
    if task.noise != "auto" and task.kind != "photon":
        words += ["--noise", task.noise]
    if task.denoiser != task.DEFAULT_DENOISER:
        words += ["--denoiser", task.denoiser]
    if task.max_iter is not None:
        words += ["--max-iter", str(task.max_iter)]
    if task.kind == "photon":
        words += _photon_words(task)
    # A name that begins with a dash would be taken for an option.
    safe = [f"./{word}" if word.startswith("-") and word in (names.image, names.output) else word for word in words]
    return shlex.join(safe)


def python_snippet(task: Task, names: Names) -> str:
    """Return a Python program that does the same.

    Examples
    --------
    >>> from plugplay.web.task import Task
    >>> print(python_snippet(Task.parse({"kind": "denoise"}), Names("noisy.png", ".png")))
    import plugplay as pp
    <BLANKLINE>
    image = pp.io.read('noisy.png')
    results = [
        pp.denoise(page, channel_axis=image.channel_axis)
        for page in image.pages
    ]
    pp.io.write('noisy-restored.png', image.restored([result.image for result in results]))
    """
    options = []
    if task.noise == "poisson":
        options.append("noise=pp.PoissonGaussian(None, None)")
    elif task.noise != "auto" and task.kind != "photon":
        options.append(f"noise={task.noise}")
    if task.denoiser != task.DEFAULT_DENOISER:
        options.append(f"denoiser={task.denoiser!r}")
    if task.max_iter is not None:
        options.append(f"max_iter={task.max_iter}")
    if task.kind == "photon":
        return _photon_snippet(task, names, options)
    lines = ["import plugplay as pp", "", f"image = pp.io.read({names.image!r})"]
    options.append("channel_axis=image.channel_axis")
    given = ["page"]
    if task.kind == "upscale":
        given.append(str(task.factor))
    if task.kernel_file is not None:
        lines.append(f"kernel = pp.kernels.from_file({names.kernel!r})")
        given.append("kernel")
    elif task.kernel is not None and task.kernel != "bicubic":
        given.append(repr(task.kernel))
    if task.mask_file is not None and task.kind != "denoise":
        lines += _mask_lines(names, "observed")
        given.append("mask" if task.kind == "inpaint" else "mask=mask")
    elif names.missing and task.kind != "denoise":
        lines.insert(0, "import numpy as np")
        given.append("np.isfinite(page)" if task.kind == "inpaint" else "mask=np.isfinite(page)")
    verb = {"upscale": "super_resolve"}.get(task.kind, task.kind)
    factor = f", factor={task.factor}" if task.kind == "upscale" else ""
    floats = ", floats='needed'" if io.holds_floats(names.output) else ""
    lines += [
        "results = [",
        f"    pp.{verb}({', '.join(given + options)})",
        "    for page in image.pages",
        "]",
        f"pp.io.write({names.output!r}, image.restored([result.image for result in results]{factor}{floats}))",
    ]
    return "\n".join(lines)


def _mask_lines(names: Names, meaning: str) -> list[str]:
    return [
        f"white = pp.io.read({names.mask!r})",
        "gray = white.pages[0].mean(axis=-1) if white.colour else white.pages[0]",
        f"mask = gray >= 0.9 * gray.max()  # True: {meaning}",
    ]


def _photon_words(task: Task) -> list[str]:
    photon = task.photon
    words = ["-K", str(photon.oversampling)]
    if photon.packed_axis is not None:
        words += ["--packed-axis", str(photon.packed_axis)]
    if photon.bit_order != "big":
        words += ["--bit-order", photon.bit_order]
    if photon.frame_shape is not None:
        words += ["--frame-shape", f"{photon.frame_shape[0]},{photon.frame_shape[1]}"]
    for name in ("time_axis", "frames", "gain"):
        value = getattr(photon, name)
        if value is not None:
            words += [f"--{name.replace('_', '-')}", f"{value:g}" if isinstance(value, float) else str(value)]
    if photon.threshold != 1:
        words += ["--threshold", str(photon.threshold)]
    for name, usual in (("dark", 0.0), ("efficiency", 1.0)):
        value = getattr(photon, name)
        if value != usual:
            words += [f"--{name}", f"{value:g}"]
    return words


def _photon_snippet(task: Task, names: Names, options: list[str]) -> str:
    photon = task.photon
    storage = [f"oversampling={photon.oversampling}"]
    for name in ("packed_axis", "frame_shape", "time_axis", "frames"):
        value = getattr(photon, name)
        if value is not None:
            storage.append(f"{name}={value!r}")
    if photon.bit_order != "big":
        storage.append(f"bit_order={photon.bit_order!r}")
    lines = ["import numpy as np", "import plugplay as pp", ""]
    if task.mask_file is not None:
        lines += _mask_lines(names, "the jot works")
        storage.append("mask=mask")
    sensor = [
        f"{name}={getattr(photon, name)!r}"
        for name, usual in (("gain", None), ("threshold", 1), ("dark", 0.0), ("efficiency", 1.0))
        if getattr(photon, name) != usual
    ]
    if photon.gain is None:
        sensor.insert(0, 'gain="auto"')
    storage.append("defects=True")
    lines += [
        f"counts = pp.io.photons.count_ones({', '.join([repr(names.image), *storage])})",
        f"result = pp.single_photon({', '.join(['counts', *sensor, *options])})",
        "image = pp.io.ImageFile.of(result.image.astype(np.float32), data_range=(0.0, 1.0))",
        f"pp.io.write({names.output!r}, image.converted(np.uint16))",
    ]
    return "\n".join(lines)
