"""Tasks for workers, which have to import them."""

import os
import signal
import time
from pathlib import Path


def square(item, threads):
    """Return the square, and what the worker was allowed."""
    if item < 0:
        raise ValueError(f"{item} is negative")
    return item**2, threads, os.environ["OPENBLAS_NUM_THREADS"], os.getpid()


def plus_one(item, threads):
    """Return the number that follows."""
    return item + 1


def poison(item, threads):
    """Kill the worker at one item, always."""
    if item == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return item


def once_deadly(item, threads):
    """Kill the worker the first time; `item` is a path that remembers."""
    mark = Path(item)
    if not mark.exists():
        mark.write_text("killed")
        os.kill(os.getpid(), signal.SIGKILL)
    return mark.read_text()


def overlap(item, threads):
    """Note begin and end in a file, to see which tasks ran side by side."""
    path, name = item
    for word in ("+", "-"):
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(handle, f"{word}{name} ".encode())
        os.close(handle)
        time.sleep(0.05)
    return name


def announce(item, threads):
    """Say who works, then take long."""
    Path(item).write_text(str(os.getpid()))
    time.sleep(600)
