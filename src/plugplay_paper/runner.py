"""Computes cells, several at a time, one core each, and stores each as it finishes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from plugplay_paper.cells.base import Cell
from plugplay_paper.store import key

if TYPE_CHECKING:
    from plugplay.scale import Executor
    from plugplay_paper.store import Store

__all__ = ["Failure", "Progress", "WorkerLostError", "estimate", "pending", "run"]

AnyCell = Cell[Any]

# Libraries that would each start as many threads as there are cores, in each process.
ONE_THREAD = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


class Progress(Protocol):
    """Whatever shows how far a run has come."""

    def finished(self, cell: AnyCell, seconds_left: float) -> None:
        """Take note of a cell that has finished or failed."""
        ...


class WorkerLostError(RuntimeError):
    """A worker process was killed."""


@dataclass(frozen=True)
class Failure:
    """A cell that raised an error."""

    label: str
    error: str


def pending(cells: Sequence[AnyCell], store: Store) -> list[AnyCell]:
    """Return the cells that have not been computed, each once."""
    waiting: dict[str, AnyCell] = {}
    for cell in cells:
        if store.load(cell) is None:
            waiting.setdefault(key(cell), cell)
    return list(waiting.values())


def estimate(cells: Sequence[AnyCell], workers: int) -> float:
    """Return about how many seconds the cells will take."""
    shared = sum(cell.cost for cell in cells if not cell.alone)
    longest = max((cell.cost for cell in cells if not cell.alone), default=0.0)
    return max(shared / workers, longest) + sum(cell.cost for cell in cells if cell.alone)


def run(
    cells: Sequence[AnyCell],
    store: Store,
    *,
    workers: int,
    progress: Progress,
    failures: list[Failure],
    executor: Executor | None = None,
) -> None:
    """Compute and store cells, in the order given but for those that must be alone, which come last.

    Parameters
    ----------
    cells : sequence of Cell
        What to compute.
    store : Store
        Where to keep it.
    workers : int
        Cells at a time.
    progress : Progress
        Told of every cell that ends.
    failures : list of Failure
        Cells that raise errors are added to it, so that it is right even if the run is interrupted.
    executor : plugplay.scale.Executor, optional
        Who computes cells, but for those that must be alone: these are timed, and stay on this machine.

    Raises
    ------
    WorkerLostError
        If a process was killed.
    """
    clock = _Clock(cells, workers)
    groups: tuple[tuple[list[AnyCell], int], ...] = (
        ([cell for cell in cells if not cell.alone], workers),
        ([cell for cell in cells if cell.alone], 1),
    )
    for group, processes in groups:
        elsewhere = executor is not None and group and not group[0].alone
        with closing(_executed(executor, group) if elsewhere else _outcomes(group, processes)) as outcomes:
            for cell, outcome in outcomes:
                if isinstance(outcome, Failure):
                    failures.append(outcome)
                else:
                    store.save(cell, outcome)
                progress.finished(cell, clock.left_after(cell))


class _Clock:
    """Tells the time that is left, by the time that the cells so far took compared with what was expected."""

    def __init__(self, cells: Sequence[AnyCell], workers: int) -> None:
        self._began = time.monotonic()
        self._workers = workers
        self._whole = self._left = sum(map(self._share, cells))

    def left_after(self, cell: AnyCell) -> float:
        """Take note that a cell has ended; return about how many seconds are left."""
        self._left = max(self._left - self._share(cell), 0.0)
        done, elapsed = self._whole - self._left, time.monotonic() - self._began
        # At first the expectation counts more than what few cells say.
        trust = 0.05 * self._whole
        return self._left * (elapsed + trust) / max(done + trust, 1e-9)

    def _share(self, cell: AnyCell) -> float:
        return cell.cost if cell.alone else cell.cost / self._workers


def _outcomes(cells: Sequence[AnyCell], processes: int) -> Generator[tuple[AnyCell, Any], None, None]:
    """Yield each cell with its record or its `Failure`, in the order in which they finish."""
    if not cells:
        return
    waiting = iter(cells)
    running: dict[Future[Any], AnyCell] = {}
    try:
        with _single_threaded(), _pool(min(processes, len(cells))) as pool:
            while True:
                # Few at a time: a cell holds its image, and an interrupt should not have to wait for a long queue.
                while len(running) < 2 * processes and (cell := next(waiting, None)) is not None:
                    running[pool.submit(_measure, cell)] = cell
                if not running:
                    return
                ended = wait(running, return_when=FIRST_COMPLETED).done
                # When a process is lost, all that is running fails: what had finished comes first.
                for future in sorted(ended, key=lambda future: isinstance(future.exception(), BrokenProcessPool)):
                    cell = running.pop(future)
                    yield cell, _outcome(cell, future)
    except BrokenProcessPool:
        raise WorkerLostError(
            "a worker process was killed, possibly out of memory. Finished cells are stored: rerun with fewer workers "
            'to resume. (In a script, call reproduce under if __name__ == "__main__":, because workers import it.)'
        ) from None


def _executed(executor: Executor | None, cells: Sequence[AnyCell]) -> Generator[tuple[AnyCell, Any], None, None]:
    """Yield each cell with its record or its `Failure`, from an executor of `plugplay.scale`."""
    assert executor is not None  # only then is it asked for
    for ended in executor.map(_task, cells):
        yield ended.item, ended.value if ended.error is None else Failure(ended.item.label, ended.error)


def _task(cell: AnyCell, threads: int) -> Any:  # noqa: ARG001 - a cell takes one core
    return cell.measure()


def _outcome(cell: AnyCell, future: Future[Any]) -> Any:
    try:
        return future.result()
    except BrokenProcessPool:
        raise
    except Exception as error:  # a cell may raise anything; the others go on
        return Failure(cell.label, f"{type(error).__name__}: {error}")


def _measure(cell: AnyCell) -> Any:
    return cell.measure()


@contextmanager
def _pool(processes: int) -> Iterator[ProcessPoolExecutor]:
    """Give a pool of fresh processes; they end at once when something goes wrong here."""
    pool = ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn"), initializer=_start_worker)
    try:
        yield pool
    except BaseException:
        for process in list((pool._processes or {}).values()):
            process.terminate()
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


def _start_worker() -> None:
    # The interrupt key reaches all processes of a terminal; the one that started the others ends them.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, name="parent watch", daemon=True).start()


def _end_with_parent() -> None:
    """Wait for the end of the process that started this one, however it comes, and end as well.

    A process that is killed cannot tell its workers, and they would wait for work that never comes. `join` waits for
    a pipe that the operating system closes with the parent (on Windows, for the parent itself).
    """
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def _single_threaded() -> Iterator[None]:
    """Let processes that are started now use one thread each; this one has loaded its libraries already."""
    before: Mapping[str, str | None] = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
