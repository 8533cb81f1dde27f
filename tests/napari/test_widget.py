"""The widget in napari, offscreen; skipped where napari or Qt is not installed."""

import os
import time
import warnings

import numpy as np
import pytest

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # napari and what it imports have deprecations of their own
    pytest.importorskip("napari", exc_type=ImportError)
    pytest.importorskip("qtpy.QtWidgets", exc_type=ImportError)
    from napari._qt.qt_resources import get_stylesheet
    from napari.components import ViewerModel
    from npe2 import PluginManager, PluginManifest
    from qtpy.QtWidgets import QAbstractSpinBox, QApplication, QLineEdit

    from plugplay.napari.widget import PREVIEW_NAME, RestoreWidget

pytestmark = pytest.mark.filterwarnings("default")

IMAGE = (np.add.outer(np.arange(48), np.arange(64)) % 16 / 16).astype(np.float32)


@pytest.fixture(scope="module")
def application():
    return QApplication.instance() or QApplication([])


@pytest.fixture
def viewer(application):
    return ViewerModel()


def widget_for(viewer, **settings):
    widget = RestoreWidget(viewer)
    widget.denoiser.value = "tv"
    widget.estimate.value = False
    for name, value in settings.items():
        getattr(widget, name).value = value
    return widget


def wait(application, condition, seconds=300):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "nothing happened"
        application.processEvents()
        time.sleep(0.01)


def test_the_manifest_is_sound():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        manifest = PluginManifest.from_distribution("plugplay")
        manifest.validate_imports()
    assert manifest.name == "plugplay"
    assert [widget.display_name for widget in manifest.contributions.widgets] == ["Restore"]
    assert len(manifest.contributions.sample_data) == 3
    assert PluginManager is not None


def test_only_what_the_task_needs_is_shown(viewer):
    viewer.add_image(IMAGE)
    widget = widget_for(viewer)
    widget.show()
    needs = {"denoise": set(), "deblur": {"kernel", "size"}, "inpaint": {"missing"}, "upscale": {"factor"}}
    for task, wanted in needs.items():
        widget.task.value = task
        shown = {
            name for name in ("kernel", "size", "angle", "psf", "missing", "factor") if getattr(widget, name).visible
        }
        assert shown == wanted
    widget.task.value, widget.kernel.value = "deblur", "layer"
    assert widget.psf.visible
    assert not widget.size.visible
    widget.close()


def test_a_result_is_a_new_layer_with_its_parameters(application, viewer):
    layer = viewer.add_image(IMAGE, name="cells", scale=(2, 3), translate=(5, 7), colormap="magma")
    widget = widget_for(viewer, task="deblur", kernel="gaussian", size=1.0)
    widget.restore()
    wait(application, lambda: len(viewer.layers) == 2)
    result = viewer.layers["cells (deblur)"]
    np.testing.assert_array_equal(result.scale, layer.scale)
    np.testing.assert_array_equal(result.translate, layer.translate)
    assert result.colormap.name == "magma"
    assert result.metadata["plugplay"]["task"] == "deblur"
    assert result.metadata["plugplay"]["lam"] > 0
    wait(application, lambda: not widget.cancel_button.enabled)
    assert widget.bar.value == 1000


def test_upscaled_layers_lie_where_the_old_one_does(application, viewer):
    viewer.add_image(IMAGE, name="small", scale=(2, 2))
    widget_for(viewer, task="upscale", factor=2).restore()
    wait(application, lambda: len(viewer.layers) == 2)
    result = viewer.layers["small (upscale)"]
    assert result.data.shape == (96, 128)
    np.testing.assert_array_equal(result.scale, (1, 1))


def test_labels_are_the_mask(application, viewer):
    viewer.add_image(np.where(np.arange(64) == 30, 1, IMAGE), name="scratched")
    widget = widget_for(viewer, task="inpaint")
    widget.restore()
    assert "labels layer" in widget.message.value
    viewer.add_labels((np.arange(64) == 30)[None].repeat(48, 0).astype(np.uint8), name="scratch")
    widget.restore()
    wait(application, lambda: len(viewer.layers) == 3)
    assert abs(viewer.layers[-1].data[:, 30] - IMAGE[:, 30]).mean() < 0.3


def test_previews_replace_each_other_and_lie_in_place(application, viewer):
    layer = viewer.add_image(np.tile(IMAGE, (8, 8)), scale=(2, 2))
    widget = widget_for(viewer, denoiser="gaussian")
    widget.preview()
    wait(application, lambda: PREVIEW_NAME in viewer.layers)
    shown = viewer.layers[PREVIEW_NAME]
    assert shown.data.shape == (256, 256)
    np.testing.assert_array_equal(shown.translate, ((384 - 256) // 2 * 2, (512 - 256) // 2 * 2))
    widget.layer.value = layer
    widget.live.value = True
    wait(application, lambda: viewer.layers[PREVIEW_NAME] is not shown if PREVIEW_NAME in viewer.layers else False)
    assert len(viewer.layers) == 2


def test_cancelling_adds_nothing(application, viewer):
    viewer.add_image(np.tile(IMAGE, (6, 6)))
    widget = widget_for(viewer, task="deblur", denoiser="bm3d")
    widget.restore()
    assert widget.cancel_button.enabled
    widget.cancel()
    wait(application, lambda: widget.message.value == "cancelled")
    wait(application, lambda: not widget.cancel_button.enabled)
    assert len(viewer.layers) == 1


def test_without_a_layer_it_says_so(viewer):
    widget = widget_for(viewer)
    widget.restore()
    assert widget.message.value == "choose an image layer"


def test_numbers_beside_sliders_can_be_read_under_the_theme_of_napari(application, viewer):
    viewer.add_image(IMAGE)
    widget = widget_for(viewer, task="deblur", kernel="motion")
    widget.native.setStyleSheet(get_stylesheet("dark"))
    widget.native.resize(250, 420)
    widget.native.show()
    application.processEvents()
    for slider in (widget.size, widget.angle, widget.strength):
        field = slider.native.findChild(QAbstractSpinBox).findChild(QLineEdit)
        assert field.width() >= field.fontMetrics().horizontalAdvance(field.text())
    widget.native.close()
