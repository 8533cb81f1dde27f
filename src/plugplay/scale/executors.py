"""Executors, which do independent tasks in this process, in others or on a cluster.

A task is a function and an item. The function is called as ``function(item, threads)``, where `threads` is the number
of threads it may use, so that workers side by side do not ask for more cores than there are. Its result must not depend
on that number, so that all executors give bit-identical results.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from plugplay.arrays.checks import check_integer, check_workers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["WAIT", "Adaptive", "Ended", "Executor", "LostSchedulerError", "Serial", "Tasks", "executor"]

Item = TypeVar("Item")
Value = TypeVar("Value")

# Tasks with fewer bytes than this cannot use several threads: they run in parallel, one thread each.
SMALL = 2**29
# Fewer small tasks than this are done faster than worker processes start.
MIN_SMALL = 8


# `items` may yield this instead of an item if other tasks have to end first.
WAIT: Final = object()


class LostSchedulerError(RuntimeError):
    """The scheduler of a cluster does not answer, or is gone."""


@dataclass(frozen=True)
class Ended(Generic[Item, Value]):
    """A task that has ended.

    Attributes
    ----------
    item : object
        The item.
    value : object
        The return value of the function; None if there is an error.
    error : str, optional
        The exception that the function raised, or a message that its workers were killed.
    """

    item: Item
    value: Value | None = None
    error: str | None = None


@dataclass(frozen=True, eq=False)
class Tasks:
    """Tasks for an executor; attributes as the parameters of `Executor.map`."""

    function: Callable[[Any, int], Any]
    items: Iterable[Any]
    needs: Callable[[Any], int] | None = None
    warm: Callable[[], object] | None = None


class Executor(ABC):
    """Base of executors: `slots` says how many tasks run at a time, and `_done` does them."""

    @property
    @abstractmethod
    def slots(self) -> int:
        """Number of tasks that are done at a time."""

    @abstractmethod
    def _done(self, tasks: Tasks) -> Iterator[Ended[Any, Any]]:
        """Do tasks, and yield each as it ends."""

    def map(
        self,
        function: Callable[[Any, int], Any],
        items: Iterable[Any],
        *,
        needs: Callable[[Any], int] | None = None,
        warm: Callable[[], object] | None = None,
    ) -> Iterator[Ended[Any, Any]]:
        """Do tasks, and yield each as it ends, in any order.

        A task whose worker is killed is done again; one that kills three workers ends with an error.

        Parameters
        ----------
        function : callable
            Called with an item and the number of threads that it may use. It must be picklable, unless it is called in
            this process. An exception becomes `Ended.error`.
        items : iterable
            The items, taken when there is room. `WAIT` among them means that other tasks have to end first.
        needs : callable, optional
            Returns the bytes of memory that an item takes. Tasks are begun only within the executor's ``memory``, but
            always one.
        warm : callable, optional
            Called once by each worker before its first task, by one worker of a host at a time: it compiles code that
            the others then find in the cache.

        Raises
        ------
        LostSchedulerError
            If the scheduler of a cluster does not answer, has no workers, or goes away.
        """
        return self._done(Tasks(function, items, needs, warm))


@dataclass(frozen=True)
class Serial(Executor):
    """Does one task after another in this process, each when it is asked for.

    Attributes
    ----------
    workers : int, optional
        Threads of each task; by default all cores.

    Examples
    --------
    >>> [ended.value for ended in Serial().map(lambda item, threads: item**2, [1, 2, 3])]
    [1, 4, 9]
    """

    workers: int | None = None

    @property
    def slots(self) -> int:
        """One."""
        return 1

    def _done(self, tasks: Tasks) -> Iterator[Ended[Any, Any]]:
        """Do the tasks in order."""
        threads = check_workers(self.workers)
        for item in tasks.items:
            if item is WAIT:
                continue
            try:
                ended = Ended[Any, Any](item, tasks.function(item, threads))
            except Exception as error:  # this task fails, and the others go on
                ended = Ended(item, error=described(error))
            yield ended


@dataclass(frozen=True)
class Adaptive(Executor):
    """Does small tasks in parallel, one thread each, and then the large ones one by one with all threads.

    Attributes
    ----------
    workers : int, optional
        Cores to use; by default all.
    memory : int, optional
        Bytes that tasks side by side may take together.
    """

    workers: int | None = None
    memory: int | None = None

    @property
    def slots(self) -> int:
        """The number of cores."""
        return check_workers(self.workers)

    def _done(self, tasks: Tasks) -> Iterator[Ended[Any, Any]]:
        """Do the small tasks, then the large ones; both in their order if they are few."""
        from plugplay.scale.processes import Processes

        waiting, needs = list(tasks.items), tasks.needs
        small = [item for item in waiting if needs is not None and needs(item) < SMALL]
        if self.slots > 1 and len(small) >= MIN_SMALL:
            crew = Processes(min(self.slots, len(small)), threads=1, memory=self.memory)
            yield from crew.map(tasks.function, small, needs=needs, warm=tasks.warm)
            chosen = set(map(id, small))
            waiting = [item for item in waiting if id(item) not in chosen]
        yield from Serial(self.workers).map(tasks.function, waiting)


def executor(on: str | None, *, workers: int | None = None, memory: int | None = None) -> Executor:
    """Return the executor that a text names.

    Parameters
    ----------
    on : str, optional
        ``"serial"``; ``"processes"`` or ``"processes:4"`` for worker processes of this machine; ``"dask"`` for a Dask
        cluster on this machine; ``"tcp://host:8786"`` for a Dask scheduler that runs. None and ``"auto"`` choose
        between one task with all threads and several in parallel, by their sizes.
    workers : int, optional
        Threads of each task; cores to use in all for ``"auto"``.
    memory : int, optional
        Bytes that tasks side by side may take together; of a scheduler that runs, each worker has as many.

    Examples
    --------
    >>> executor("processes:4", workers=1)
    Processes(count=4, threads=1, memory=None)
    >>> executor("slurm")
    Traceback (most recent call last):
        ...
    ValueError: unknown executor 'slurm'; available: auto, serial, processes, processes:N, dask, dask:N, tcp://HOST:PORT
    """
    from plugplay.scale.processes import Processes

    kind, _, number = (on or "auto").partition(":")
    if kind in ("tcp", "tls"):
        from plugplay.scale.cluster import Dask

        host, _, port = number.removeprefix("//").rpartition(":")
        if not host or not port.isdecimal():
            raise ValueError(f"a scheduler is named by its host and port, as in tcp://host:8786; got {on!r}")
        return Dask(address=on, threads=workers)
    if kind in ("processes", "dask"):
        count = None
        if number:
            if not number.isdecimal() or int(number) < 1:
                raise ValueError(f"{kind}: a number of workers is needed, as in {kind}:4; got {number!r}")
            count = int(number)
        if kind == "processes":
            return Processes(count, threads=workers, memory=memory)
        from plugplay.scale.cluster import Dask

        return Dask(count=count, threads=workers, memory=memory)
    if number or kind not in ("auto", "serial"):
        raise ValueError(
            f"unknown executor {on!r}; available: auto, serial, processes, processes:N, dask, dask:N, tcp://HOST:PORT"
        )
    return Serial(workers) if kind == "serial" else Adaptive(workers, memory)


def room_for(crew: Executor, tasks: int, bytes_each: int) -> int:
    """Return how many tasks are done at a time; of a cluster that runs, each worker has the memory for itself."""
    memory: int | None = getattr(crew, "memory", None)
    room = tasks if memory is None else max(memory // bytes_each, 1)
    return min(crew.slots, room, tasks)


def described(error: BaseException) -> str:
    """Return an error in one line."""
    text = " ".join(str(error).split())
    known = isinstance(error, ValueError | TypeError | OSError | RuntimeError)
    return text if known and text else f"{type(error).__name__}: {text}".removesuffix(": ")


def share_of_cores(count: int, threads: int | None) -> int:
    """Return the threads of each of `count` parallel workers: those given, or its share of the cores."""
    if threads is not None:
        return check_integer(threads, "threads", minimum=1)
    return max(1, check_workers(None) // count)
