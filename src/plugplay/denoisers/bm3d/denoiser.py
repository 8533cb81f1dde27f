"""`BM3D`, the public class of this package."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from plugplay.arrays.checks import FloatArray, check_choice, check_integer, check_number, check_workers, float_image
from plugplay.denoisers.base import Denoiser
from plugplay.denoisers.bm3d.colouring import Spectrum, compact_spectrum
from plugplay.denoisers.bm3d.efforts import Call, effort, grid_of
from plugplay.denoisers.bm3d.images import denoise_image
from plugplay.denoisers.bm3d.loop import BETWEEN_SPREAD, LATE, THINNING, Spreads, levels_for, spreads_for
from plugplay.denoisers.bm3d.memory import Memory
from plugplay.denoisers.bm3d.pipeline import Progress
from plugplay.denoisers.bm3d.profiles import Profile, ProfileName, Purpose, profile_for

if TYPE_CHECKING:
    from plugplay.traits import Traits

__all__ = ["BM3D"]

MIN_THIRD_SIGMA = 1 / 255
"""The noise, for images on [0, 1], below which a third stage gains nothing and is left out."""

_PURPOSES: dict[str, Purpose] = {
    "white": "denoising",
    "nearly white": "denoising",
    "coloured": "restoration",
    "shot": "photons",
}


@dataclass(frozen=True, kw_only=True)
class BM3D:
    """Block-matching and 3-D filtering.

    Similar 8x8 blocks of the image are stacked into groups, and each group is denoised by shrinking its
    coefficients in a three-dimensional transform: first by a hard threshold, which gives an estimate of the image,
    then, with groups formed on this estimate, by a Wiener filter computed from the estimate.

    Colour images ``(H, W, 3)`` are denoised in opponent colours, with the groups of the luminance for all three.
    Images with any other number of channels are denoised channel by channel.

    Parameters
    ----------
    profile : {"normal", "fast", "high"}, optional
        Trade-off between time and quality: ``"fast"`` places reference blocks further apart, ``"high"`` closer.
    stages : {2, 3}, optional
        With 3, a Wiener filter in the principal axes of each group follows, on coarser grids for the first two: about
        0.2 dB better in 1.4 times the time. By default 3 for ``profile="high"`` and for a single denoising of white
        noise (see `prepared`), else 2. Below a `sigma` of 1/255 there are always two.
    purpose : {"denoising", "restoration", "photons"}, optional
        The noise to be removed: white noise, or the noise that the steps of a restoration leave, after a blur or with
        photon counts. By default white noise, or what `prepared` chooses for a problem.
    noise_spectrum : array_like, optional
        Power spectrum of coloured noise, relative to any level, on a regular grid of at least 15 x 15 frequencies in
        the layout of an FFT (zero frequency first). `sigma` is then the standard deviation of that noise. White by
        default. For two stages only.
    noise_planes : tuple of three floats, optional
        By what factors the standard deviation of the noise in luminance, red-blue and magenta-green differs from that
        of noise which is independent in all colours. Noise that is alike in all of them has about (1.73, 0, 0), which
        is the root of three. Applies to colour images.
    mean : tuple of float, optional
        Detail below the threshold is pulled towards this brightness, one number for each channel. By default that is
        the mean of the image; parts of an image use that of the whole (see `around`).
    sparse_above : float, optional
        The sigma above which calls of a session (see `session`) place reference blocks further apart, which saves time
        while a restoration decides coarse structure; so do calls with a sigma far below it, because little changes
        there. By default never, or what `prepared` chooses for a problem.
    third_below : float, optional
        The sigma below which such calls of a session have a third stage. By default none, or what `prepared` chooses
        for a problem.
    local_below : float, optional
        The sigma below which such calls have a fourth stage (`plugplay.denoisers.bm3d.local`). Default as above.
    moves_after : int, optional
        The number of calls after which a session moves its reference blocks by a pixel and forms new groups. Default as
        above.
    third_above : float, optional
        The sigma above which such calls of a session have a third stage as well. Default as above.
    workers : int, optional
        Number of threads, by default all cores. Results are bit-identical for any number.

    Notes
    -----
    Computed in single precision, whatever the precision of the image. With ``sigma = 0`` the image is returned
    unchanged.

    References
    ----------
    K. Dabov, A. Foi, V. Katkovnik, K. Egiazarian, "Image denoising by sparse 3-D transform-domain collaborative
    filtering", IEEE Transactions on Image Processing 16 (2007).

    M. Lebrun, "An analysis and implementation of the BM3D image denoising method", Image Processing On Line 2
    (2012).

    Examples
    --------
    >>> import numpy as np
    >>> from plugplay.denoisers import BM3D
    >>> clean = np.tile(np.linspace(0, 1, 32), (32, 1))
    >>> noisy = clean + 0.1 * np.random.default_rng(0).standard_normal(clean.shape)
    >>> denoised = BM3D()(noisy, 0.1)
    >>> bool(np.std(denoised - clean) < 0.4 * np.std(noisy - clean))
    True
    """

    name: ClassVar[str] = "bm3d"

    profile: ProfileName = "normal"
    stages: Literal[2, 3] | None = None
    purpose: Purpose | None = None
    noise_spectrum: NDArray[np.float64] | Spectrum | None = field(default=None, repr=False)
    noise_planes: tuple[float, float, float] | None = field(default=None, repr=False)
    mean: tuple[float, ...] | None = field(default=None, repr=False)
    sparse_above: float | None = field(default=None, repr=False)
    third_below: float | None = field(default=None, repr=False)
    local_below: float | None = field(default=None, repr=False)
    moves_after: int | None = field(default=None, repr=False)
    third_above: float | None = field(default=None, repr=False)
    workers: int | None = None

    def __post_init__(self) -> None:
        check_choice(self.profile, "profile", get_args(ProfileName))
        if self.stages is not None and check_integer(self.stages, "stages", minimum=2) > 3:
            raise ValueError(f"stages must be 2 or 3; got {self.stages!r}")
        if self.purpose is not None:
            check_choice(self.purpose, "purpose", get_args(Purpose))
        for name in ("sparse_above", "third_below", "local_below", "third_above"):
            if getattr(self, name) is not None:
                check_number(getattr(self, name), name, minimum=0)
        if self.moves_after is not None:
            check_integer(self.moves_after, "moves_after", minimum=1)
        check_workers(self.workers)
        if self.noise_spectrum is not None:
            if self.stages == 3:
                raise ValueError("three stages are for white noise; with noise_spectrum, leave stages out or take 2")
            object.__setattr__(self, "noise_spectrum", compact_spectrum(self.noise_spectrum))

    def __call__(self, image: FloatArray, sigma: float, /) -> FloatArray:
        """Remove white Gaussian noise.

        Parameters
        ----------
        image : ndarray of float32 or float64, shape (H, W) or (H, W, C)
            The noisy image, of any size.
        sigma : float
            Standard deviation of the noise, on the scale of the image.

        Returns
        -------
        ndarray
            The denoised image, with the shape and dtype of `image`.
        """
        image = float_image(image, "image")
        if image.ndim == 3 and image.shape[2] != 3:
            return np.stack([one(image[..., index], sigma) for index, one in self._channels(image)], axis=-1)
        return self._denoise(image, sigma)

    def prepared(self, traits: Traits, workers: int | None) -> BM3D:
        """Return a BM3D for a restoration, with purpose, spectrum and workers set unless they were given.

        Parameters
        ----------
        traits : Traits
            The properties of the model; ``traits.leaves`` is the kind of noise that its step leaves for the denoiser,
            ``traits.noise`` the noise in the data, and ``traits.noise_spectrum`` its spectrum if it is not white.
        workers : int, optional
            Number of threads of the restoration.

        Examples
        --------
        >>> from plugplay.traits import Traits
        >>> BM3D().prepared(Traits(leaves="coloured"), 2)
        BM3D(profile='normal', stages=None, purpose='restoration', workers=2)
        """
        # For a single call on white noise the third stage is worth its time.
        spectrum = self.noise_spectrum
        if spectrum is None and self.stages != 3:
            spectrum = traits.noise_spectrum
        if traits.leaves == "nearly white" and (self.stages or spectrum is not None):
            traits = replace(traits, leaves="white")  # the rules for a loop are for stages that come and go
        third, loop = traits.leaves == "white" and spectrum is None, levels_for(traits)
        return replace(
            self,
            noise_spectrum=spectrum,
            noise_planes=traits.noise_planes if self.noise_planes is None else self.noise_planes,
            stages=self.stages or (3 if third else None),
            purpose=self.purpose or _PURPOSES[traits.leaves],
            sparse_above=loop.sparse_above if self.sparse_above is None else self.sparse_above,
            third_below=self.third_below if self.third_below is not None or self.stages else loop.third_below,
            local_below=self.local_below if self.local_below is not None or self.stages else loop.local_below,
            moves_after=self.moves_after if self.moves_after is not None or self.stages else loop.moves_after,
            third_above=self.third_above if self.third_above is not None or self.stages else loop.third_above,
            workers=workers if self.workers is None else self.workers,
        )

    def around(self, mean: tuple[float, ...]) -> BM3D:
        """Return a BM3D for parts of an image that has this mean, one number for each channel.

        Examples
        --------
        >>> import numpy as np
        >>> noisy = np.random.default_rng(0).normal(0.2, 0.1, (32, 32))
        >>> bool(abs(BM3D().around((0.25,))(noisy, 0.1).mean() - 0.25) < abs(BM3D()(noisy, 0.1).mean() - 0.25))
        True
        """
        return replace(self, mean=mean)

    def efforts(self, sigmas: Sequence[float], *, colour: bool = False) -> list[float]:
        """Return about how long the calls of a session with these sigmas take, relative to each other.

        Examples
        --------
        >>> BM3D().efforts([0.2, 0.15, 0.1, 0.05])
        [2.05, 1.0, 1.0, 2.05]
        """
        memory, found = self._memory(1), []
        decimated = self.sparse_above is not None and self.third_below is not None
        exact = decimated and self.moves_after is not None
        mild = self.third_above is not None
        for sigma in sigmas:
            memory.groups_for(sigma, profile := self._profile(sigma, in_session=True, colour=colour))
            sparse, between = self._is_sparse(sigma), self._is_between(sigma)
            grid = grid_of(decimated=decimated, exact=exact, mild=mild, sparse=sparse, between=between)
            found.append(effort(Call(grid, memory.searches, self._has_third(sigma), profile.local), colour=colour))
        return found

    def session(self, progress: Progress | None = None) -> Denoiser:
        """Return a BM3D that remembers groups between the calls of one restoration.

        The search for groups is more than half of the work. Because the image changes little from call to call within a
        restoration, the session searches anew only in some calls (see `plugplay.denoisers.bm3d.memory`). Sessions share
        nothing.

        Parameters
        ----------
        progress : callable, optional
            ``progress(share)`` is called several times during every call of the session, in the thread of the caller,
            with the share of the work that is done, up to 1. An exception that it raises ends the call at once; the
            session can be called again, and starts with a new search.

        Examples
        --------
        >>> import numpy as np
        >>> denoise = BM3D().session()
        >>> image = np.zeros((16, 16))
        >>> for sigma in (0.2, 0.1, 0.05):
        ...     image = denoise(image, sigma)
        >>> image.shape
        (16, 16)
        """
        memories: dict[int, Memory] = {}
        shape: tuple[int, ...] = ()

        def denoise(image: FloatArray, sigma: float, /) -> FloatArray:
            nonlocal shape
            image = float_image(image, "image")
            if image.shape != shape:
                memories.clear()
                shape = image.shape
            if image.ndim == 2 or image.shape[2] == 3:
                return self._denoise(image, sigma, memories.setdefault(0, self._memory(image.shape[1])), progress)
            # Each channel has its own groups, and needs its own memory.
            channels = [
                one._denoise(
                    image[..., index],
                    sigma,
                    memories.setdefault(index, self._memory(image.shape[1])),
                    _part(progress, index, image.shape[2]),
                )
                for index, one in self._channels(image)
            ]
            return np.stack(channels, axis=-1)

        return denoise

    def _channels(self, image: FloatArray) -> Iterator[tuple[int, BM3D]]:
        """Yield the index of each channel and the denoiser of that channel."""
        known = self.mean is not None and len(self.mean) == image.shape[2]
        for index in range(image.shape[2]):
            yield index, replace(self, mean=self.mean[index : index + 1] if self.mean is not None and known else None)

    def _memory(self, width: int) -> Memory:
        return Memory(width) if self.moves_after is None else Memory(width, self.moves_after)

    @property
    def _stages(self) -> int:
        return self.stages or (3 if self.profile == "high" and self.noise_spectrum is None else 2)

    def _is_sparse(self, sigma: float) -> bool:
        return self.sparse_above is not None and sigma > self.sparse_above

    def _is_between(self, sigma: float) -> bool:
        if self.sparse_above is None or self.third_below is not None:
            return False
        return LATE * self.sparse_above < sigma <= self.sparse_above

    @property
    def _spreads(self) -> Spreads:
        third, moves = self.third_below is not None, self.moves_after is not None
        return spreads_for(third=third, moves=moves, early_third=self.third_above is not None)

    def _has_third(self, sigma: float) -> bool:
        early = self.third_above is not None and sigma > self.third_above
        return early or (self.third_below is not None and MIN_THIRD_SIGMA <= sigma <= self.third_below)

    def _profile(self, sigma: float, *, in_session: bool, colour: bool) -> Profile:
        """Return the settings of a call."""
        purpose = self.purpose or "denoising"
        profile = profile_for(self.profile, self._stages if sigma >= MIN_THIRD_SIGMA else 2, purpose)
        third, spreads = in_session and self._has_third(sigma), self._spreads
        if in_session and self.sparse_above is not None:
            if self._is_sparse(sigma):
                profile = replace(profile, principal=None)
            # On a dense grid, two of three channels can be filtered at fewer blocks.
            thinned = colour and spreads.thinned == ("early" if self._is_sparse(sigma) and not third else "late")
            if self._is_between(sigma) or thinned:
                profile = profile.sparser(BETWEEN_SPREAD).thinner(THINNING)
            else:
                profile = profile.sparser(spreads.early if self._is_sparse(sigma) else spreads.late)
            profile = profile.midway() if spreads.midway else profile
        if third:
            principal = profile_for(self.profile, 3, purpose).principal
            if principal is not None and self.sparse_above is not None:
                principal = principal.spread(spreads.principal)
            profile = replace(profile, principal=principal, principal_luminance=True)
        if in_session and self.local_below is not None and self.noise_spectrum is None:
            profile = replace(profile, local=MIN_THIRD_SIGMA <= sigma <= self.local_below)
        return replace(profile, spectrum=None if self.noise_spectrum is None else compact_spectrum(self.noise_spectrum))

    def _denoise(
        self, image: FloatArray, sigma: float, memory: Memory | None = None, progress: Progress | None = None
    ) -> FloatArray:
        """Denoise a gray or colour image, with the groups in `memory` if there are any that are still good."""
        sigma = check_number(sigma, "sigma", minimum=0)
        workers = check_workers(self.workers)
        if sigma == 0:
            if progress:
                progress(1.0)
            return image.copy()
        profile = self._profile(sigma, in_session=memory is not None, colour=image.ndim == 3)
        groups = memory.groups_for(sigma, profile) if memory else None
        if memory and self.moves_after is not None:
            profile = profile.moved(memory.turn)
        try:
            return denoise_image(
                image,
                sigma,
                profile,
                mean=self.mean,
                shares=self.noise_planes,
                workers=workers,
                groups=groups,
                progress=progress,
            )
        except BaseException:
            # Groups were found for some strips only; the next call must not mix them with those of another image.
            if memory:
                memory.forget()
            raise


def _part(progress: Progress | None, index: int, count: int) -> Progress | None:
    """Return the progress of part `index` of work that has `count` equal parts."""
    if progress is None:
        return None
    whole = progress
    return lambda share: whole((index + share) / count)
