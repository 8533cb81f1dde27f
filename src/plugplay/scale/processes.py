"""Worker processes on this machine.

Each worker is a new process with a pipe and does one task at a time, so that it is known which task killed a worker.
With `concurrent.futures`, one killed worker fails all running tasks. Workers exit when the process that started them
ends, for whatever reason.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any

from plugplay.arrays.checks import check_workers
from plugplay.scale.executors import Executor, described, share_of_cores
from plugplay.scale.hosts import one_at_a_time
from plugplay.scale.scheduling import Report, done_by

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.context import SpawnProcess

    from plugplay.scale.executors import Ended, Tasks

__all__ = ["THREAD_VARIABLES", "Processes"]

# Variables that limit the threads of libraries, which by default use all cores in each process.
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
# Seconds that a terminated worker has to save its checkpoint before it is killed.
GRACE = 10.0


@dataclass(frozen=True)
class Processes(Executor):
    """Does tasks in worker processes, several at a time.

    Attributes
    ----------
    count : int, optional
        Number of workers; by default one for each core.
    threads : int, optional
        Threads of each task; by default the worker's share of the cores.
    memory : int, optional
        Bytes that tasks side by side may take together.
    """

    count: int | None = None
    threads: int | None = None
    memory: int | None = None

    @property
    def slots(self) -> int:
        """The number of workers."""
        return check_workers(self.count)

    def _done(self, tasks: Tasks) -> Iterator[Ended[Any, Any]]:
        crew = _ProcessCrew(self.slots, share_of_cores(self.slots, self.threads), tasks.function, tasks.warm)
        try:
            yield from done_by(crew, tasks, memory=self.memory)
        finally:
            crew.close()


@dataclass
class _Worker:
    process: SpawnProcess
    pipe: Connection
    task: int | None = None


class _ProcessCrew:
    """The workers of one `map`; started when there is work for them."""

    def __init__(
        self, slots: int, threads: int, function: Callable[[Any, int], Any], warm: Callable[[], object] | None
    ) -> None:
        self.slots = slots
        self._threads = threads
        self._call = pickle.dumps((function, warm))
        self._workers: list[_Worker] = []
        # What could not be sent, and is told when reports are asked for.
        self._unsent: list[Report] = []

    def begin(self, number: int, item: Any) -> None:
        """Send a task to an idle worker, or to a new one."""
        try:
            content = pickle.dumps((number, item))
        except Exception as error:  # pickling raises what it likes
            self._unsent.append(Report(number, error=f"it cannot be sent to a worker ({described(error)})"))
            return
        worker = next((worker for worker in self._workers if worker.task is None), None) or self._hired()
        worker.task = number
        with suppress(OSError):  # it is dead, which will be noticed
            worker.pipe.send_bytes(content)

    def reports(self) -> list[Report]:
        """Wait for values, errors and deaths."""
        if self._unsent:
            found, self._unsent = self._unsent, []
            return found
        found = []
        ready = set(wait([worker.pipe for worker in self._workers if worker.task is not None]))
        for worker in list(self._workers):
            if worker.pipe not in ready or worker.task is None:
                continue
            number, worker.task = worker.task, None
            try:
                _, value, error = worker.pipe.recv()
                found.append(Report(number, value, error))
            except (EOFError, OSError):
                found.append(Report(number, deaths=1))
                self._dismiss(worker)
        return found

    def close(self) -> None:
        """End all workers: at once those that wait, and those that work after they have cleaned up."""
        for worker in self._workers:
            with suppress(OSError):
                worker.pipe.close()
            if worker.task is not None:
                worker.process.terminate()
        for worker in list(self._workers):
            self._dismiss(worker)

    def _hired(self) -> _Worker:
        context = multiprocessing.get_context("spawn")
        mine, theirs = context.Pipe()
        process = context.Process(target=_work, args=(theirs, self._call, self._threads), daemon=True)
        with thread_limits(self._threads):
            process.start()
        theirs.close()
        worker = _Worker(process, mine)
        self._workers.append(worker)
        return worker

    def _dismiss(self, worker: _Worker) -> None:
        self._workers.remove(worker)
        with suppress(OSError):
            worker.pipe.close()
        worker.process.join(GRACE)
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()
        worker.process.close()


@contextmanager
def thread_limits(threads: int) -> Iterator[None]:
    """Let processes that are started now use so many threads in libraries; this one has loaded its own already."""
    before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, str(threads)))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _work(pipe: Connection, call: bytes, threads: int) -> None:
    """Do tasks until the pipe is closed."""
    # The interrupt key reaches all processes of a terminal; the one that started the others ends them.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, name="parent watch", daemon=True).start()
    function, warm = pickle.loads(call)
    if warm is not None:
        with one_at_a_time(), suppress(Exception):  # what is wrong shows in the first task
            warm()
    # Not before: there is nothing to clean up yet, and an exception within the compiler would be reported.
    signal.signal(signal.SIGTERM, _terminate)
    while True:
        try:
            number, item = pickle.loads(pipe.recv_bytes())
        except (EOFError, OSError):
            return
        value, error = None, None
        try:
            value = function(item, threads)
        except Exception as raised:  # this task fails, and the worker goes on
            error = described(raised)
        try:
            pipe.send((number, value, error))
        except (BrokenPipeError, ConnectionError):
            return
        except Exception as raised:  # a value that cannot be pickled
            pipe.send((number, None, f"its result cannot be sent back ({described(raised)})"))


def _terminate(*_: object) -> None:
    # Leaves through the same cleaning-up as any error, so that no half-written file stays behind.
    sys.exit(143)


def _end_with_parent() -> None:
    """Exit when the process that started this one ends, for whatever reason."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
