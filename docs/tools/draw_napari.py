"""Take the screenshot of the plug-in: ``xvfb-run -s '-screen 0 1280x800x24' python docs/tools/draw_napari.py``.

It needs ``pip install '.[napari]'`` and a Qt such as ``PySide6_Essentials``. The sample photograph is deblurred by the
widget, as a user would do it.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from qtpy.QtWidgets import QApplication

import napari
from plugplay.napari.samples import photograph
from plugplay.napari.widget import RestoreWidget

if TYPE_CHECKING:
    from collections.abc import Callable

TARGET = Path(__file__).parents[1] / "images" / "napari.png"


def main() -> None:
    """Open, restore, and save what is seen."""
    viewer = napari.Viewer()
    window = viewer.window._qt_window
    window.resize(1120, 640)
    ((pixels, options, _),) = photograph()
    viewer.add_image(pixels, **options)
    widget = RestoreWidget(viewer)
    viewer.window.add_dock_widget(widget, name="Restore (plugplay)")
    widget.task.value, widget.kernel.value, widget.size.value = "deblur", "disk", 3.0
    widget.restore()
    _wait(lambda: len(viewer.layers) == 2)
    viewer.canvas.grid.enabled = True
    viewer.reset_view()
    end = time.monotonic() + 2
    _wait(lambda: time.monotonic() > end)
    window.grab().save(str(TARGET))
    viewer.close()


def _wait(condition: Callable[[], bool], seconds: float = 300) -> None:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        QApplication.processEvents()
        time.sleep(0.01)


if __name__ == "__main__":
    main()
