"""Dask: a cluster on this machine, or a running scheduler.

Each worker does one task at a time, with as many threads as the cluster gave it. A running scheduler restarts a task
if its worker dies, as often as it is configured to (``distributed.scheduler.allowed-failures``); one that is started
here reports the failure at once.
"""

from __future__ import annotations

import functools
import logging
import os
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plugplay.arrays.checks import check_workers
from plugplay.scale.executors import Executor, LostSchedulerError, described, share_of_cores
from plugplay.scale.hosts import one_at_a_time
from plugplay.scale.processes import thread_limits
from plugplay.scale.scheduling import Report, done_by

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from plugplay.scale.executors import Ended, Tasks

__all__ = ["Dask"]

# Seconds within which a scheduler has to answer.
PATIENCE = 10.0
_GONE = "the Dask scheduler went away; what is finished is kept: start it again, and rerun to resume"
# Packages whose versions affect pixels, or whether tasks can be unpickled.
_MATTERS = ("python", "dask", "distributed", "cloudpickle", "numpy", "plugplay")


@dataclass(frozen=True)
class Dask(Executor):
    """Does tasks on a Dask cluster.

    Attributes
    ----------
    client : distributed.Client, optional
        An existing client, which stays open.
    address : str, optional
        A scheduler, such as ``"tcp://host:8786"``. Without either, a cluster is started on this machine.
    count : int, optional
        Workers of a cluster on this machine; by default one for each core.
    threads : int, optional
        Threads of each task; by default those of the worker that does it.
    memory : int, optional
        Bytes that tasks side by side may take together.
    """

    client: Any = None
    address: str | None = None
    count: int | None = None
    threads: int | None = None
    memory: int | None = None

    def __post_init__(self) -> None:
        try:
            import dask  # noqa: F401
            import distributed  # noqa: F401
        except ImportError:
            raise ValueError("Dask is not installed: pip install 'plugplay[scale]'") from None

    @property
    def slots(self) -> int:
        """How many workers there are; a scheduler is asked."""
        if self.client is not None:
            return max(_workers(self.client), 1)
        return check_workers(self.count) if self.address is None else _count_at(self.address)

    def _done(self, tasks: Tasks) -> Iterator[Ended[Any, Any]]:
        with self._connected() as client:
            yield from done_by(_DaskCrew(client, tasks, self.threads), tasks, memory=self.memory)

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        if self.client is not None:
            check_versions(self.client)
            yield self.client
            return
        if self.address is not None:
            with _quiet_logs(), _closing(_client_of(self.address)) as client:
                check_versions(client)
                yield client
            return
        import dask
        from distributed import Client, LocalCluster

        count = self.slots
        threads = share_of_cores(count, self.threads)
        # Memory is bounded by what is begun; Dask's own limit would kill workers in the middle of large tiles.
        options = {"n_workers": count, "threads_per_worker": threads, "dashboard_address": None, "memory_limit": 0}
        with (
            thread_limits(threads),
            _quiet_logs(),
            dask.config.set({"distributed.scheduler.allowed-failures": 0}),
            LocalCluster(**options) as cluster,
            _closing(Client(cluster, set_as_default=False)) as client,
        ):
            yield client


@functools.cache
def _count_at(address: str) -> int:
    with _quiet_logs(), _closing(_client_of(address)) as client:
        return max(_workers(client), 1)


def _client_of(address: str) -> Any:
    """Connect to a scheduler, or raise within a bounded time.

    Dask waits forever for a server that accepts a connection and then sends nothing, so it is called in a thread.
    """
    from distributed import Client

    found: list[Any] = []

    def connect() -> None:
        try:
            found.append(Client(address, timeout=PATIENCE, set_as_default=False))
        except Exception as error:  # told below
            found.append(error)

    thread = threading.Thread(target=connect, name="connecting", daemon=True)
    thread.start()
    thread.join(3 * PATIENCE)
    if found and not isinstance(found[0], Exception):
        return found[0]
    reason = described(found[0]) if found else "it accepts connections, but does not answer"
    raise LostSchedulerError(
        f"no Dask scheduler answers at {address} within {PATIENCE:g} s ({reason}); start one with: dask scheduler"
    )


class _DaskCrew:
    """The workers of a client."""

    def __init__(self, client: Any, tasks: Tasks, threads: int | None) -> None:
        from distributed import as_completed

        self._client, self._threads = client, threads
        # Sent with every task: scattered data are lost with the worker that holds them.
        self._call = _Call(tasks.function, tasks.warm, str(Path.cwd()))
        self._futures: dict[Any, int] = {}
        self._completed = as_completed([], loop=client.loop)
        self.slots = max(_workers(client), 1)

    def begin(self, number: int, item: Any) -> None:
        """Submit a task."""
        try:
            future = self._client.submit(_done, self._call, item, self._threads, pure=False)
        except Exception as error:
            if self._client.status == "running":  # it is about the item
                raise
            raise LostSchedulerError(_GONE) from error
        self._futures[future] = number
        self._completed.add(future)

    def reports(self) -> list[Report]:
        """Wait for the next task that has ended."""
        from concurrent.futures import CancelledError

        from distributed import KilledWorker

        future = next(self._completed)
        number = self._futures.pop(future)
        self.slots = max(_workers(self._client), 1)
        try:
            value, failure = future.result(timeout=PATIENCE)
        except KilledWorker as error:
            return [Report(number, deaths=getattr(error, "allowed_failures", 0) + 1)]
        except (CancelledError, TimeoutError, OSError) as error:
            raise LostSchedulerError(_GONE) from error
        except Exception as error:  # a worker that cannot read the task, for example
            return [Report(number, error=described(error))]
        return [Report(number, value, failure)]


@dataclass(frozen=True)
class _Call:
    """The function of all tasks, and the folder in which they were asked for: names of files may be relative to it."""

    function: Callable[[Any, int], Any]
    warm: Callable[[], object] | None
    folder: str


_lock = threading.Lock()
_warmed: set[bytes] = set()


def _done(call: _Call, item: Any, threads: int | None) -> tuple[Any, str | None]:
    """Do a task on a worker, one at a time."""
    import pickle

    from distributed import get_worker

    with _lock, _in_folder(call.folder):
        if call.warm is not None:
            key = pickle.dumps(call.warm)
            if key not in _warmed:
                _warmed.add(key)
                with one_at_a_time(), suppress(Exception):  # what is wrong shows in the task
                    call.warm()
        try:
            return call.function(item, threads or get_worker().state.nthreads), None
        except Exception as error:  # this task fails, and the worker goes on
            return None, described(error)


@contextmanager
def _in_folder(folder: str) -> Iterator[None]:
    """Work in a folder, if this host has it."""
    before = Path.cwd()
    with suppress(OSError):
        os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def check_versions(client: Any) -> None:
    """Refuse a cluster without workers, or with other versions of packages that affect pixels."""
    try:
        if not _workers(client):
            client.wait_for_workers(1, timeout=PATIENCE)
        theirs = client.run(_versions)
    except TimeoutError:
        raise LostSchedulerError(
            f"the Dask scheduler at {client.scheduler.address} has no workers; start some with: dask worker "
            f"{client.scheduler.address}"
        ) from None
    except Exception as error:  # plugplay is not there, or too old to know this module
        raise LostSchedulerError(
            f"the Dask workers at {client.scheduler.address} cannot run plugplay ({described(error)}); install the "
            "same version of it there"
        ) from None
    ours = _versions()
    for worker, found in theirs.items():
        for name in _MATTERS:
            if found[name] != ours[name]:
                raise LostSchedulerError(
                    f"the Dask worker {worker} has {name} {found[name]}, but here it is {ours[name]}; install the same "
                    "version there"
                )


def _versions() -> dict[str, str]:
    """Return the versions of what matters; that of plugplay includes its source code."""
    import importlib.metadata
    import platform

    from plugplay import __version__
    from plugplay.io.manifest import code_digest

    found = {name: importlib.metadata.version(name) for name in _MATTERS if name not in ("python", "plugplay")}
    return {**found, "python": platform.python_version(), "plugplay": f"{__version__} ({code_digest()[:8]})"}


def _workers(client: Any) -> int:
    with suppress(Exception):  # a scheduler that has gone has none
        return len(client.scheduler_info(n_workers=-1)["workers"])
    return 0


@contextmanager
def _closing(client: Any) -> Iterator[Any]:
    try:
        yield client
    finally:
        with suppress(Exception):  # the scheduler may be gone
            client.close(timeout=2)


@contextmanager
def _quiet_logs() -> Iterator[None]:
    """Hide Dask's log messages about lost connections: the error that follows says it in one line."""
    logger = logging.getLogger("distributed")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)
