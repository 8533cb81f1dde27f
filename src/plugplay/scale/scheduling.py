"""Which task begins when: room in memory, tasks that lost their workers, and their second chance alone."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from plugplay.scale.executors import WAIT, Ended

if TYPE_CHECKING:
    from collections.abc import Iterator

    from plugplay.scale.executors import Tasks

__all__ = ["Crew", "Report", "done_by"]

# A task whose workers were killed so many times is given up.
MAX_DEATHS = 3


@dataclass(frozen=True)
class Report:
    """What a crew tells about a task: it has a value, an error, or so many of its workers were killed."""

    number: int
    value: Any = None
    error: str | None = None
    deaths: int = 0


class Crew(Protocol):
    """Workers that do numbered tasks."""

    @property
    def slots(self) -> int:
        """How many tasks it does at a time."""
        ...

    def begin(self, number: int, item: Any) -> None:
        """Hand a task out; called while there are fewer than `slots`."""
        ...

    def reports(self) -> list[Report]:
        """Wait until something has happened, and tell."""
        ...


def done_by(crew: Crew, tasks: Tasks, *, memory: int | None) -> Iterator[Ended[Any, Any]]:
    """Let a crew do all tasks; yield each as it ends.

    A task whose worker was killed is done once more, alone: if memory ran out, there is more of it then, and if the
    task itself is to blame, no other suffers.
    """
    waiting = enumerate(tasks.items)
    running: dict[int, tuple[Any, int]] = {}
    suspects: deque[tuple[int, Any]] = deque()
    deaths: dict[int, int] = {}
    held: tuple[int, Any] | None = None
    used = 0
    while True:
        while len(running) < crew.slots and not any(number in deaths for number in running):
            if suspects:
                if running:
                    break
                following: tuple[int, Any] | None = suspects.popleft()
            else:
                following, held = held or next(waiting, None), None
            if following is None:
                break
            number, item = following
            if item is WAIT:
                if running:
                    break
                continue
            need = 0 if tasks.needs is None else tasks.needs(item)
            if running and memory is not None and used + need > memory:
                held = following
                break
            running[number] = (item, need)
            used += need
            crew.begin(number, item)
        if not running:
            return
        for report in crew.reports():
            item, need = running.pop(report.number)
            used -= need
            error = report.error
            if report.deaths:
                deaths[report.number] = deaths.get(report.number, 0) + report.deaths
                if deaths[report.number] < MAX_DEATHS:
                    suspects.append((report.number, item))
                    continue
                error = f"its worker was killed {deaths[report.number]} times, possibly out of memory; given up"
            yield Ended(item, report.value, error)
