"""Cells in processes of their own: all of them, in any order, with the same results, whatever happens to some."""

import os

import pytest

import plugplay as pp
from plugplay_paper.cells.solver_timing import SolverTiming
from plugplay_paper.cells.trials import Trial
from plugplay_paper.methods import FirstGuess, PlugAndPlay, SparseCoding
from plugplay_paper.problems import Degraded, Photons
from plugplay_paper.runner import ONE_THREAD, WorkerLostError, estimate, pending, run
from plugplay_paper.store import Store

BLUR = Degraded("blur", pp.models.Deblurring(pp.kernels.box(3)), 0.01)
TV = PlugAndPlay(lam=1e-3, schedule=pp.Monotone(rho0=0.1, gamma=1.5), denoiser="tv")


class Watch:
    def __init__(self, *, interrupt_after=None):
        self.labels, self.left, self.interrupt_after = [], [], interrupt_after

    def finished(self, cell, seconds_left):
        self.labels.append(cell.label)
        self.left.append(seconds_left)
        if len(self.labels) == self.interrupt_after:
            raise KeyboardInterrupt


@pytest.fixture
def cells(small):
    return [Trial(image=small, problem=BLUR, method=TV, seed=seed) for seed in range(4)]


def test_results_do_not_depend_on_the_number_of_processes(tmp_path, cells):
    watch, failures = Watch(), []
    for workers in (1, 2):
        run(cells, Store(tmp_path / str(workers)), workers=workers, progress=watch, failures=failures)
    assert failures == []
    one, two = ([Store(tmp_path / name).load(cell).psnr for cell in cells] for name in ("1", "2"))
    assert one == two
    assert len(watch.labels) == 8
    assert [watch.left[3], watch.left[7]] == pytest.approx([0, 0], abs=1e-6)


def test_a_cell_is_what_it_measures_in_this_process(tmp_path, cells):
    run(cells[:1], Store(tmp_path), workers=1, progress=Watch(), failures=[])
    assert Store(tmp_path).load(cells[0]).psnr == cells[0].measure().psnr


def test_a_failing_cell_is_told_and_the_others_go_on(tmp_path, cells, small):
    photons = Photons("photons", pp.models.SinglePhoton(2))
    broken = Trial(image=small, problem=photons, method=SparseCoding(), seed=0)  # made for super-resolution only
    store = Store(tmp_path)
    failures = []
    run([broken, *cells], store, workers=2, progress=Watch(), failures=failures)
    [failure] = failures
    assert failure.label == broken.label
    assert failure.error == "TypeError: the method enlarges images; got data of SinglePhoton"
    assert pending([broken, *cells], store) == [broken]


def test_an_executor_computes_the_same_cells(tmp_path, cells, small):
    photons = Photons("photons", pp.models.SinglePhoton(2))
    broken = Trial(image=small, problem=photons, method=SparseCoding(), seed=0)
    failures = []
    executor = pp.scale.executor("processes:2", workers=1)
    run([broken, cells[0]], Store(tmp_path), workers=1, progress=Watch(), failures=failures, executor=executor)
    assert Store(tmp_path).load(cells[0]).psnr == cells[0].measure().psnr
    assert [failure.label for failure in failures] == [broken.label]


def test_an_interrupt_loses_nothing_that_has_finished(tmp_path, cells):
    store = Store(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        run(cells, store, workers=1, progress=Watch(interrupt_after=2), failures=[])
    left = pending(cells, store)
    assert len(left) == 2
    watch = Watch()
    run(left, store, workers=1, progress=watch, failures=[])
    assert pending(cells, store) == []
    assert len(watch.labels) == 2


def test_cells_are_computed_once(tmp_path, cells):
    assert len(pending([*cells, *cells], Store(tmp_path))) == len(cells)


def test_the_environment_is_left_as_it_was(tmp_path, cells, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    run(cells[:1], Store(tmp_path), workers=1, progress=Watch(), failures=[])
    assert {name: os.environ.get(name) for name in ONE_THREAD} == before


def test_more_work_takes_longer_and_more_cores_do_not(small, cells):
    guess = Trial(image=small, problem=BLUR, method=FirstGuess(), seed=0)
    assert estimate([guess], 1) < estimate(cells, 1)
    assert estimate(cells, 2) == pytest.approx(estimate(cells, 1) / 2)
    assert estimate([], 2) == 0


def test_timings_run_alone_and_last(tmp_path, cells, small):
    """Two timings among other cells: they end last, one after the other."""
    timings = [SolverTiming(small, factor) for factor in (2, 4)]
    watch = Watch()
    run([timings[0], *cells, timings[1]], Store(tmp_path), workers=2, progress=watch, failures=[])
    assert watch.labels[-2:] == [timing.label for timing in timings]


def test_failures_are_known_even_after_an_interrupt(tmp_path, cells, small):
    broken = Trial(image=small, problem=BLUR, method=SparseCoding(), seed=0)
    failures = []
    with pytest.raises(KeyboardInterrupt):
        run([broken, *cells], Store(tmp_path), workers=1, progress=Watch(interrupt_after=2), failures=failures)
    assert [failure.label for failure in failures] == [broken.label]


def test_a_lost_process_is_told_and_what_was_finished_is_kept(tmp_path, cells):
    import multiprocessing

    class Killer(Watch):
        def finished(self, cell, seconds_left):
            super().finished(cell, seconds_left)
            for process in multiprocessing.active_children():
                process.kill()

    store = Store(tmp_path)
    with pytest.raises(WorkerLostError, match="killed, possibly out of memory.*fewer workers"):
        run(cells, store, workers=1, progress=Killer(), failures=[])
    assert len(pending(cells, store)) < len(cells)
