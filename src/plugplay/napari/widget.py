"""The widget: what happened to the layer, a preview of what is visible, and the run with progress and cancel."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np
from magicgui.widgets import (
    CheckBox,
    ComboBox,
    Container,
    FloatSlider,
    FloatSpinBox,
    Label,
    ProgressBar,
    PushButton,
    SpinBox,
)
from napari.layers import Image, Labels
from napari.qt.threading import create_worker
from qtpy.QtWidgets import QAbstractSpinBox

import plugplay as pp
from plugplay.napari.jobs import KERNELS, TASKS, Job, Outcome, kernel_of, restoring

if TYPE_CHECKING:
    from collections.abc import Callable

    from napari.viewer import Viewer

__all__ = ["RestoreWidget"]

# Pixels a side that a preview restores: a second or so with BM3D.
PREVIEW = 256
PREVIEW_NAME = "plugplay preview"
# The numbers beside sliders have no arrows. Under napari's theme Qt then leaves a pixel for the number: so they get
# arrows, and these no width.
READOUT = (
    "QAbstractSpinBox { background: transparent; border: 0; padding: 0; min-width: 2.5em; }"
    "QAbstractSpinBox::up-button, QAbstractSpinBox::down-button { subcontrol-position: center right; width: 0; }"
    "QAbstractSpinBox::up-arrow, QAbstractSpinBox::down-arrow { image: none; }"
)


class RestoreWidget(Container):
    """Restores the chosen layer of a viewer.

    Parameters
    ----------
    napari_viewer : napari.viewer.Viewer
        The viewer, which napari fills in by this name.
    """

    def __init__(self, napari_viewer: Viewer) -> None:
        object.__setattr__(self, "_viewer", napari_viewer)  # a container is no container before its own __init__
        self.layer = ComboBox(choices=self._layers_of(Image), label="layer")
        self.task = ComboBox(choices=TASKS, value="denoise", label="what happened")
        self.task.tooltip = "noise only, a blur, missing pixels, or a lower resolution"
        self.kernel = ComboBox(choices=KERNELS, value="gaussian", label="kernel")
        self.size = FloatSlider(value=2.0, min=0.3, max=30.0, step=0.1, label="size (px)")
        self.angle = FloatSlider(value=0.0, min=0.0, max=180.0, step=1.0, label="angle (°)")
        self.psf = ComboBox(choices=self._layers_of(Image), label="PSF")
        self.missing = ComboBox(choices=self._layers_of(Labels), label="missing pixels")
        self.factor = SpinBox(value=2, min=2, max=8, label="factor")
        self.denoiser = ComboBox(choices=sorted(pp.denoisers.available()), value="bm3d", label="denoiser")
        self.estimate = CheckBox(value=True, text="estimate the noise")
        self.noise = FloatSpinBox(value=0.02, min=0.0, max=0.9, step=0.001, label="noise (white = 1)")
        self.strength = FloatSlider(value=1.0, min=0.2, max=5.0, step=0.1, label="strength")
        self.volume = CheckBox(value=False, text="the last three axes are a volume")
        self.live = CheckBox(value=False, text="live preview")
        self.preview_button = PushButton(text="Preview")
        self.run_button = PushButton(text="Restore")
        self.cancel_button = PushButton(text="Cancel", enabled=False)
        self.bar = ProgressBar(value=0, min=0, max=1000, label="")
        self.message = Label(value="")
        super().__init__(
            widgets=[
                self.layer,
                self.task,
                self.kernel,
                self.size,
                self.angle,
                self.psf,
                self.missing,
                self.factor,
                self.denoiser,
                self.estimate,
                self.noise,
                self.strength,
                self.volume,
                self.live,
                Container(
                    widgets=[self.preview_button, self.run_button, self.cancel_button],
                    layout="horizontal",
                    labels=False,
                ),
                self.bar,
                self.message,
            ]
        )
        for slider in (self.size, self.angle, self.strength):
            readout = slider.native.findChild(QAbstractSpinBox)
            readout.setButtonSymbols(QAbstractSpinBox.ButtonSymbols.UpDownArrows)
            readout.setStyleSheet(READOUT)
        self._stop = threading.Event()
        self._worker: Any = None
        for choice in (self.task, self.kernel, self.estimate):
            choice.changed.connect(self._arrange)
        for setting in (self.size, self.angle, self.strength, self.noise, self.kernel, self.task, self.denoiser):
            setting.changed.connect(self._follow)
        self.live.changed.connect(self._follow)
        self.preview_button.changed.connect(self.preview)
        self.run_button.changed.connect(self.restore)
        self.cancel_button.changed.connect(self.cancel)
        self._viewer.layers.events.inserted.connect(self.reset_choices)
        self._viewer.layers.events.removed.connect(self.reset_choices)
        self.reset_choices()
        self._arrange()

    def _layers_of(self, kind: type) -> Callable[[Any], list[Any]]:
        """Return the choices of a combo box: the layers of this kind, as they are when it is asked."""

        def choices(_: Any) -> list[Any]:
            return [layer for layer in self._viewer.layers if layer.name != PREVIEW_NAME and isinstance(layer, kind)]

        return choices

    def restore(self) -> None:
        """Restore the whole layer; the result is a new one."""
        layer = self.layer.value
        self._start(layer, layer and layer.data, None, lambda outcome: self._add(layer, outcome))

    def preview(self) -> None:
        """Restore what is visible of the layer, in a layer of its own that the next preview replaces."""
        layer = self.layer.value
        if layer is None:
            self.message.value = "choose an image layer"
            return
        index, corner = self._visible_part(layer)
        self._start(
            layer, np.asarray(layer.data[index]), index, lambda outcome: self._show_preview(layer, outcome, corner)
        )

    def cancel(self) -> None:
        """End what is running, as soon as it looks."""
        self._stop.set()

    def job(self, layer: Any, index: tuple[Any, ...] | None = None) -> Job:
        """Return what the settings ask for; `index` cuts the labels as it does the layer."""
        volume = bool(self.volume.value) and index is None
        task = str(self.task.value)
        kernel = mask = None
        if task == "deblur":
            psf = None if self.psf.value is None else self.psf.value.data
            whole = bool(self.volume.value)
            kernel = kernel_of(self.kernel.value, self.size.value, self.angle.value, psf, volume=whole)
            if whole and not volume:  # a preview is one plane
                kernel = kernel.sum(axis=0)
        elif task == "inpaint":
            if self.missing.value is None:
                raise ValueError("add a labels layer, and paint what is missing")
            painted = np.asarray(self.missing.value.data)
            axes = layer.data.ndim - bool(layer.rgb)
            if index is not None:
                spatial = index[:axes]
                painted = painted[spatial[axes - painted.ndim :]]
            mask = painted == 0
        return Job(
            task=task,
            kernel=kernel,
            mask=mask,
            factor=int(self.factor.value),
            denoiser=str(self.denoiser.value),
            noise=None if self.estimate.value else float(self.noise.value),
            strength=float(self.strength.value),
            rgb=bool(layer.rgb),
            volume=volume,
        )

    def _start(self, layer: Any, array: Any, index: tuple[Any, ...] | None, done: Callable[[Outcome], None]) -> None:
        if layer is None:
            self.message.value = "choose an image layer"
            return
        self._stop.set()  # whatever runs is no longer wanted
        try:
            job = self.job(layer, index)
        except ValueError as error:
            self.message.value = str(error)
            return
        stop = self._stop = threading.Event()
        worker = create_worker(restoring, array, job, stop.is_set)
        self._worker = worker

        def current() -> bool:
            return self._worker is worker

        def told(progress: tuple[float, str]) -> None:
            if current():
                self.bar.value, self.message.value = round(1000 * progress[0]), progress[1]

        def returned(outcome: Outcome) -> None:
            if current():
                self.bar.value = 1000
                words = outcome.metadata["warnings"] or [", ".join(outcome.metadata["status"]).lower()]
                self.message.value = "; ".join(words)
                done(outcome)

        def failed(error: Exception) -> None:
            if current():
                self.bar.value = 0
                self.message.value = "cancelled" if isinstance(error, pp.Cancelled) else str(error)

        def finished() -> None:
            if current():
                self.cancel_button.enabled = False

        worker.yielded.connect(told)
        worker.returned.connect(returned)
        worker.errored.connect(failed)
        worker.finished.connect(finished)
        self.bar.value, self.message.value, self.cancel_button.enabled = 0, "planning", True
        worker.start()

    def _add(self, layer: Any, outcome: Outcome) -> None:
        options = self._placement(layer, outcome)
        self._viewer.add_image(outcome.image, name=f"{layer.name} ({outcome.metadata['task']})", **options)

    def _show_preview(self, layer: Any, outcome: Outcome, corner: tuple[int, ...]) -> None:
        if PREVIEW_NAME in self._viewer.layers:
            self._viewer.layers.remove(PREVIEW_NAME)
        chosen = self._viewer.layers.selection.active
        options = self._placement(layer, outcome, axes=2)
        options["translate"] = np.asarray(layer.translate)[-2:] + np.asarray(layer.scale)[-2:] * corner
        self._viewer.add_image(outcome.image, name=PREVIEW_NAME, **options)
        self._viewer.layers.selection.active = chosen

    def _placement(self, layer: Any, outcome: Outcome, axes: int | None = None) -> dict[str, Any]:
        scale = np.asarray(layer.scale, float)[-axes if axes else 0 :].copy()
        translate = np.asarray(layer.translate, float)[-axes if axes else 0 :]
        if outcome.metadata["task"] == "upscale":
            scale[-2:] /= int(self.factor.value)
        options = {"scale": scale, "translate": translate, "rgb": layer.rgb, "metadata": {"plugplay": outcome.metadata}}
        if not layer.rgb:
            options |= {"colormap": layer.colormap.name, "contrast_limits": tuple(layer.contrast_limits)}
        return options

    def _visible_part(self, layer: Any) -> tuple[tuple[Any, ...], tuple[int, int]]:
        """Return the index of the visible plane, at most `PREVIEW` pixels a side, and its first pixel."""
        shape = layer.data.shape[:-1] if layer.rgb else layer.data.shape
        steps = tuple(self._viewer.dims.current_step)[-len(shape) :]
        index: list[Any] = [min(int(step), size - 1) for step, size in zip(steps, shape, strict=False)]
        corners = np.asarray(layer.corner_pixels)[:, -2:]
        first = []
        for axis in (-2, -1):
            low, high = int(corners[0, axis]), int(corners[1, axis]) + 1  # the last corner is visible itself
            if high <= low + 1:  # nothing was drawn yet
                low, high = 0, shape[axis]
            side = min(PREVIEW, shape[axis])
            begin = min(max((low + high - side) // 2, 0), shape[axis] - side)
            index[axis] = slice(begin, begin + side)
            first.append(begin)
        return tuple(index), (first[0], first[1])

    def _arrange(self) -> None:
        """Show what the task needs, and nothing else."""
        task, kernel = self.task.value, self.kernel.value
        self.kernel.visible = task == "deblur"
        self.size.visible = task == "deblur" and kernel != "layer"
        self.angle.visible = task == "deblur" and kernel == "motion"
        self.psf.visible = task == "deblur" and kernel == "layer"
        self.missing.visible = task == "inpaint"
        self.factor.visible = task == "upscale"
        self.volume.visible = task != "upscale"
        self.noise.visible = not self.estimate.value

    def _follow(self) -> None:
        if self.live.value:
            self.preview()
