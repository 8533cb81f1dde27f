"""`Result`: what a restoration returns, with the reason why the loop ended and all parameters."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Any

from plugplay.arrays.records import Fingerprinted, plain
from plugplay.pnp.state import History, State

if TYPE_CHECKING:
    import os

    from matplotlib.figure import Figure

    from plugplay.arrays.checks import FloatArray
    from plugplay.arrays.preview import Preview
    from plugplay.io import ImageFile
    from plugplay.noise.coloured import ColouredNoise
    from plugplay.noise.growing import PoissonGaussian
    from plugplay.pnp.schedules import Schedule

__all__ = ["Parameters", "Result", "Status"]


class Status(Enum):
    """Why the loop ended; ``str(status)`` explains it and gives advice."""

    CONVERGED = "The iterates have settled: the change per iteration fell below the tolerance."
    MAX_ITERATIONS = (
        "The iteration limit was reached before the iterates settled. The image may already be good: look at "
        "history.delta; otherwise raise max_iter or gamma, or continue with start=result.state."
    )
    FINISHED = (
        "The schedule has ended: below this sigma the denoiser no longer improves an image, so that further "
        "iterations would gain nothing."
    )
    STOPPED = "The callback stopped the loop. Continue with start=result.state."
    DIVERGED = (
        "The iterates grew without bound, and the last good one was returned. The denoiser is probably not "
        "bounded, or not suited to this sigma: use a schedule with a larger rho0 or gamma, or another denoiser."
    )
    DOUBTFUL = "The loop ended, but the result does not look right: result.warnings says what was noticed."

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class Parameters:
    """All parameters of a run, given or chosen.

    Attributes
    ----------
    denoiser : str
        Name of the denoiser.
    prepared : object
        The denoiser itself, as it was fitted to the problem.
    schedule, lam, tol, max_iter, stop_rule, clip
        As `plugplay.pnp_admm` takes them.
    model : object, optional
        The model, if `plugplay.restore` was called with one.
    noise : float, PoissonGaussian or ColouredNoise, optional
        The noise, on the scale [0, 1].
    noise_uncertainty : float, optional
        The standard error of the estimated `noise`, on the same scale; infinite if too little was observed, None if
        the noise was given or is described by more than a level.
    data_range : (float, float), optional
        The values of the input that became 0 and 1.
    chosen : tuple of str
        The names of the parameters that were chosen automatically.
    tune : str, optional
        The criterion by which lambda was refined, if any.
    iteration : str
        How an iteration combines the model's step and the denoiser: ``"admm"`` is the paper's Algorithm 1.
    last_sigma : float
        The run ends before sigma falls below this value.
    min_iter : int
        The tolerance is ignored before this iteration. If schedule and tolerance were chosen automatically, this is the
        length of the run, unless the iterates have not settled by then.
    working_range : (float, float), optional
        The values of the input that the denoiser sees as 0 and 1.
    transfer : str
        The transfer curve that was undone before the restoration: ``"linear"`` if there was none.
    clipped_noise : (float, float), optional
        The standard deviation of noise that was clipped at black and at white, on the scale [0, 1]; 0 at an end where
        none was, None if there was none at all. What its means had lost was given back before the restoration.
    equal_channels : bool
        Whether all channels of the input are equal, as those of a gray photograph stored as RGB. Then one of them was
        restored, and the result has it in each channel.
    """

    denoiser: str
    schedule: Schedule
    lam: float
    tol: float
    max_iter: int
    stop_rule: str
    clip: tuple[float, float] | None
    model: object = None
    noise: float | PoissonGaussian | ColouredNoise | None = None
    noise_uncertainty: float | None = None
    data_range: tuple[float, float] | None = None
    chosen: tuple[str, ...] = ()
    tune: str | None = None
    iteration: str = "admm"
    last_sigma: float = 0.0
    min_iter: int = 0
    working_range: tuple[float, float] | None = None
    transfer: str = "linear"
    clipped_noise: tuple[float, float] | None = None
    equal_channels: bool = False
    prepared: object = field(default=None, metadata={"fingerprinted": False}, compare=False)

    def plain(self) -> dict[str, Any]:
        """Return everything except the model as values that JSON can represent."""
        named = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "model"}
        if not is_dataclass(self.prepared):
            named.pop("prepared")
        used: dict[str, Any] = plain(named)
        return used


@dataclass(frozen=True, eq=False, repr=False)
class Result(Fingerprinted):
    """What a restoration returns.

    Attributes
    ----------
    image : array
        The restored image: float, unclipped, in the units of float input and on [0, 1] for integers.
    status : Status
        Why the loop ended; ``str(result.status)`` gives advice.
    warnings : tuple of str
        What was noticed in this run, in plain sentences.
    history : History
        rho, sigma, delta and other figures of every iteration.
    parameters : Parameters
        All parameters, including those that were chosen automatically.
    state : State
        The state of the loop; pass it as ``start=`` to continue. If a warning says that the image is a mean of two
        runs, it is that of the first.
    preview : Preview, optional
        A small image of the observation, which notebooks show beside the result.
    """

    image: FloatArray
    status: Status
    history: History
    parameters: Parameters
    state: State
    warnings: tuple[str, ...] = ()
    preview: Preview | None = field(default=None, repr=False, metadata={"fingerprinted": False})

    def __repr__(self) -> str:
        """Return at most five lines: status, image, parameters and the first warning."""
        image, used = self.image, self.parameters
        count, seconds = len(self.history), float(self.history.seconds.sum())
        noise = "" if used.noise is None else f", noise {_short(used.noise)}"
        lines = [
            f"Result: {self.status.name}, {count} iteration{'s' * (count != 1)}, {seconds:.2g} s",
            f"  image: {image.shape} {image.dtype}, {_short(float(image.min()))} to {_short(float(image.max()))}",
            f"  used: {used.denoiser}, {used.iteration}{noise}, lam {used.lam:.3g}",
        ]
        if used.chosen:
            lines.append(f"  chosen: {', '.join(used.chosen)}")
        if self.warnings:
            more = f" (and {len(self.warnings) - 1} more)" if len(self.warnings) > 1 else ""
            first = self.warnings[0]
            lines.append(f"  warning: {first if len(first) <= 100 else first[:99] + '…'}{more}")
        return "\n".join(lines)

    def noting(self, *notes: str) -> Result:
        """Return the result with additional warnings in front."""
        return replace(self, warnings=notes + self.warnings)

    def plot(self) -> Figure:
        """Draw the convergence curves; the figure is returned, not shown.

        Returns
        -------
        matplotlib.figure.Figure
            Save it with ``figure.savefig(path)``.
        """
        from plugplay.plots.curves import convergence_figure

        return convergence_figure(self.history, self.parameters)

    def save(self, path: str | os.PathLike[str], *, like: str | os.PathLike[str] | ImageFile | None = None) -> None:
        """Write the image; ``like`` is the file that was restored, whose depth and metadata are kept.

        Parameters
        ----------
        path : path
            Its ending chooses the format. The file appears when it is complete.
        like : path or ImageFile, optional
            The original file, whose depth, colour profile, resolution, coordinates and other metadata are used. Counts
            beyond the range of its integers are written as float32 in the units of the file, if the format supports
            floats. Without `like`, floats are written if the format supports them; else a warning says how they were
            converted.
        """
        from plugplay.io.saving import save_image

        save_image(path, self.image, like=like)

    def _repr_html_(self) -> str:
        """Show the result in a notebook: before and after, parameters, and the convergence curve."""
        from plugplay.plots.html import result_html

        return result_html(self)


def _short(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
