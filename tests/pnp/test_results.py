import pickle
import subprocess
import sys

import numpy as np
import pytest

import plugplay as pp


@pytest.fixture(scope="module")
def result(camera):
    x = camera[:32, :32]
    y = pp.models.Denoising().simulate(x, noise=0.1, rng=0)
    return pp.restore(
        y, pp.models.Denoising(), denoiser="tv", lam=1e-2, schedule=pp.Monotone(rho0=1.0, gamma=1.5), reference=x
    )


def test_status_is_advice():
    for status in pp.Status:
        assert len(str(status).split()) > 6
    assert "max_iter" in str(pp.Status.MAX_ITERATIONS)


def test_plot_shows_the_run(result, tmp_path):
    figure = result.plot()
    assert [axes.get_title() for axes in figure.axes] == [
        "Change per iteration",
        "Penalty and denoising strength",
        "PSNR (dB)",
    ]
    np.testing.assert_allclose(figure.axes[0].lines[0].get_ydata(), result.history.delta)
    figure.savefig(tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 10_000


def test_state_round_trip(result, tmp_path):
    path = tmp_path / "state.npz"
    path.write_bytes(b"old")
    result.state.save(path)
    loaded = pp.State.load(path)
    assert loaded.fingerprint() == result.state.fingerprint()
    assert [p.name for p in tmp_path.iterdir()] == ["state.npz"]


@pytest.mark.parametrize("content", [b"", b"nonsense", b"PK\x03\x04 truncated", pickle.dumps({"x": 1})])
def test_other_files_are_refused(content, tmp_path):
    path = tmp_path / "state.npz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is not a checkpoint written by"):
        pp.State.load(path)


def test_objects_are_never_unpickled(tmp_path):
    path = tmp_path / "state.npz"
    np.savez(path, x=np.array([{"an": "object"}], dtype=object))
    with pytest.raises(ValueError, match="is not a checkpoint written by"):
        pp.State.load(path)


def test_records_are_read_only(result):
    for array in (result.history.delta, result.state.x, result.state.v, result.state.u):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(AttributeError):
        result.image = None


def test_import_is_light():
    code = (
        "import sys, plugplay; "
        "heavy = {'numba', 'matplotlib', 'skimage', 'scipy'} & set(sys.modules); "
        "assert not heavy, heavy; "
        "assert set(plugplay.__all__) == set(dir(plugplay)); "
        "[getattr(plugplay, name) for name in plugplay.__all__]; "
        "heavy = {'numba', 'matplotlib', 'skimage'} & set(sys.modules); "
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_unknown_names_raise():
    with pytest.raises(AttributeError, match="has no attribute 'restoer'"):
        _ = pp.restoer
