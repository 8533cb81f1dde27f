"""A progress bar for Python: HTML in a notebook, a line on a terminal, nothing elsewhere."""

from __future__ import annotations

import sys
import time
from html import escape
from typing import TYPE_CHECKING, Any, Self

from plugplay.pnp.forecast import seconds_left

if TYPE_CHECKING:
    from types import TracebackType

    from plugplay.pnp.results import Parameters
    from plugplay.pnp.state import State

__all__ = ["ProgressBar"]

# Seconds between updates: a notebook stores every one that it is sent.
PAUSE = 0.1


class ProgressBar:
    """Shows how far a restoration is; give it as ``callback=``.

    In a Jupyter notebook the bar is a line of HTML that is updated in place, on a terminal it is drawn on standard
    error. Elsewhere, in a log for instance, nothing is shown.

    Parameters
    ----------
    parameters : Parameters, optional
        What the run uses, from which the time left is forecast. `plugplay.restore` and the one-call functions say it
        themselves; for a plan, give ``plan.parameters``.

    Examples
    --------
    >>> import numpy as np, plugplay as pp
    >>> result = pp.deblur(np.eye(16), pp.kernels.box(3), noise=0.01, denoiser="tv", callback=pp.ProgressBar())

    >>> plan = pp.prepare(np.eye(16), pp.models.Deblurring(pp.kernels.box(3)), noise=0.01, denoiser="tv")
    >>> with pp.ProgressBar(plan.parameters) as bar:
    ...     result = plan.run(callback=bar, progress=bar.share)
    """

    def __init__(self, parameters: Parameters | None = None) -> None:
        self._parameters = parameters
        self._spoke, self._iteration, self._share = 0.0, 0, 0.0
        self._again = False
        self._screen = _screen()

    def begin(self, parameters: Parameters) -> None:
        """Start anew, for a run with these parameters."""
        self._parameters, self._iteration, self._share, self._spoke = parameters, 0, 0.0, 0.0
        self._again = False

    def __call__(self, state: State) -> None:
        """Show where the restoration stands after an iteration."""
        if state.iteration <= self._iteration:  # a run with other noise begins
            self._again, self._share = True, 0.0
        self._iteration = state.iteration
        text = f"{self._number(state.iteration)}, sigma {state.history.sigma[-1]:.4f}"
        if self._parameters is not None:
            spent, left = float(state.history.seconds.sum()), seconds_left(state, self._parameters)
            # A forecast may become longer, but a bar that goes back tells nobody anything.
            self._share = max(self._share, spent / (spent + left) if spent + left > 0 else 1.0)
            text += f", about {left:.0f} s left" if left >= 1 else ""
        self._show(text)

    def share(self, done: float) -> None:
        """Show how much of a denoiser's call is done; for ``plan.run(progress=...)``."""
        self._show(f"{self._number(self._iteration + 1)}, {100 * done:.0f} %")

    def end(self) -> None:
        """Show that it is over."""
        self._spoke = 0.0
        self._share = 1.0
        self._show(f"{self._iteration} iteration{'' if self._iteration == 1 else 's'}")
        if self._screen is not None:
            self._screen.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def _number(self, iteration: int) -> str:
        # What a run shows about the noise may call for another, which nobody can foresee.
        return f"repeated with other noise, iteration {iteration}" if self._again else f"iteration {iteration}"

    def _show(self, text: str) -> None:
        now = time.monotonic()
        if self._screen is not None and now - self._spoke >= PAUSE:
            self._spoke = now
            self._screen.show(self._share, text)


class _Notebook:
    """A display of Jupyter's that is updated in place."""

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, share: float, text: str) -> None:
        from IPython.display import HTML, display

        bar = f'<progress max="1" value="{share:.3f}" style="width:16em"></progress> {escape(text)}'
        if self._handle is None:
            self._handle = display(HTML(bar), display_id=True)
        else:
            self._handle.update(HTML(bar))

    def close(self) -> None:
        """Leave the last state; the next run gets a bar of its own."""
        self._handle = None


class _Terminal:
    """One line of standard error."""

    def show(self, share: float, text: str) -> None:
        filled = round(24 * share)
        sys.stderr.write(f"\r\x1b[K[{'#' * filled}{'.' * (24 - filled)}] {text}")
        sys.stderr.flush()

    def close(self) -> None:
        sys.stderr.write("\n")


def _screen() -> _Notebook | _Terminal | None:
    if "IPython" in sys.modules:
        shell = sys.modules["IPython"].get_ipython()
        if shell is not None and getattr(shell, "kernel", None) is not None:
            return _Notebook()
    return _Terminal() if sys.stderr.isatty() else None
