"""Scheduling of tasks: limits on memory, and retries of tasks whose workers were killed."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from plugplay.scale.executors import WAIT, Ended

if TYPE_CHECKING:
    from collections.abc import Iterator

    from plugplay.scale.executors import Tasks

__all__ = ["Crew", "Report", "done_by"]

# A task whose workers were killed this many times is given up.
MAX_DEATHS = 3


@dataclass(frozen=True)
class Report:
    """The report of a crew about a task: its value, its error, or how many of its workers were killed."""

    number: int
    value: Any = None
    error: str | None = None
    deaths: int = 0


class Crew(Protocol):
    """Workers that do numbered tasks."""

    @property
    def slots(self) -> int:
        """Number of tasks that it does at a time."""
        ...

    def begin(self, number: int, item: Any) -> None:
        """Start a task; called while fewer than `slots` are running."""
        ...

    def reports(self) -> list[Report]:
        """Wait for reports."""
        ...


def done_by(crew: Crew, tasks: Tasks, *, memory: int | None) -> Iterator[Ended[Any, Any]]:
    """Let a crew do all tasks; yield each as it ends.

    A task whose worker was killed is repeated alone: if it ran out of memory, it then has more, and if the task itself
    kills workers, no other task is affected.
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
