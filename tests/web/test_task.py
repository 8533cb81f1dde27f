import contextlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from plugplay import kernels
from plugplay.web.recipes import Names, command_line
from plugplay.web.store import display_name
from plugplay.web.task import KINDS, Task, TaskError, check_kernel_words

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)
FIELDS = ["noise", "kernel", "kernel_file", "mask_file", "factor", "denoiser", "max_iter", "photon"]


@pytest.mark.parametrize(
    ("task", "field"),
    [
        (None, "task"),
        ([], "task"),
        ({}, "kind"),
        ({"kind": "sharpen"}, "kind"),
        ({"kind": "denoise", "sigma": 3}, "task"),
        ({"kind": "deblur"}, "kernel"),
        ({"kind": "deblur", "kernel": "/etc/passwd"}, "kernel"),
        ({"kind": "deblur", "kernel": "gaussian:1e9"}, "kernel"),
        ({"kind": "deblur", "kernel": "gaussian:900"}, "kernel"),
        ({"kind": "deblur", "kernel": "gaussian:1,2.5"}, "kernel"),
        ({"kind": "deblur", "kernel": "bicubic"}, "kernel"),
        ({"kind": "deblur", "kernel_file": "../x"}, "kernel_file"),
        ({"kind": "denoise", "kernel": "disk:3"}, "kernel"),
        ({"kind": "denoise", "noise": -1}, "noise"),
        ({"kind": "denoise", "noise": "5/0"}, "noise"),
        ({"kind": "denoise", "noise": "nan"}, "noise"),
        ({"kind": "denoise", "max_iter": True}, "max_iter"),
        ({"kind": "denoise", "denoiser": "a/b"}, "denoiser"),
        ({"kind": "upscale", "factor": 100}, "factor"),
        ({"kind": "photon", "photon": {"oversampling": 0}}, "photon.oversampling"),
        ({"kind": "photon", "photon": {"frame_shape": [3]}}, "photon.frame_shape"),
        ({"kind": "photon", "photon": {"gain": float("inf")}}, "photon.gain"),
    ],
)
def test_a_mistake_is_named(task, field):
    with pytest.raises(TaskError) as caught:
        Task.parse(task)
    assert caught.value.field == field


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(kind=st.sampled_from(KINDS), values=st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=4))
def test_any_json_gives_a_task_or_says_what_is_wrong(kind, values):
    with contextlib.suppress(TaskError):
        task = Task.parse({"kind": kind, **values})
        assert Task.parse(task.to_dict()) == task
        assert task.noise_level is None or task.noise != "auto"


@settings(deadline=None)
@given(st.sampled_from(["gaussian:1.5", "disk:3", "motion:9.5,45", "box:3,5", "gaussian:2,9"]))
def test_kernels_in_words_are_the_command_lines(words):
    assert kernels.parse(check_kernel_words(words)).sum() == pytest.approx(1)


@settings(deadline=None)
@given(st.text(max_size=300))
def test_a_name_is_never_a_path(name):
    shown = display_name(name)
    assert shown
    assert not set(shown) & set('/\\:\x00\n\r"')
    assert not shown.startswith(".")
    assert len(shown) <= 140


def test_an_image_called_like_an_option_stays_an_image():
    task = Task.parse({"kind": "denoise"})
    assert command_line(task, Names("--help.png", ".png")) == "plugplay denoise ./--help.png -o ./--help-restored.png"
