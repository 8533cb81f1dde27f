"""Star fields: how well deblurring with the defaults keeps the flux of stars, and how dark it makes their surroundings.

    python benchmarks/fields.py [--size 256] [--seeds 1 2 3 4] [--show FOLDER]

Simulated fields of stars from 200 to 300,000 electrons and a few galaxies, with sky, photon and read-out noise, a
column of NaN, and a Moffat point-spread function of 3 pixels. Printed are the error of the total flux, the median error
of the flux in apertures (a radius of 5 pixels) for stars above 10 sigma and from 4 to 6.5 sigma (sigma: the noise of
the best possible measurement of a lone star), the share of the stars from 4 to 8 sigma that stand out of the restored
sky, the darkest pixel, in units of the noise of a pixel below the sky of its place, and how many are twice that noise
below or more. The last line pools the stars of all fields. `inpaint` is asked how far it moves observed pixels.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

import plugplay as pp

SKY, READ = 100.0, 5.0
APERTURE = 5.0
FAINTEST, BRIGHTEST = 200.0, 300_000.0


def moffat(size: int = 25, fwhm: float = 3.0, beta: float = 3.5) -> NDArray[np.float64]:
    """Return a point-spread function as the atmosphere makes it."""
    alpha = fwhm / (2 * math.sqrt(2 ** (1 / beta) - 1))
    axis = np.arange(size) - size // 2
    psf = (1 + (axis[:, None] ** 2 + axis[None] ** 2) / alpha**2) ** -beta
    return np.asarray(psf / psf.sum())


@dataclass(frozen=True, eq=False)
class Field:
    """A simulated exposure, in electrons.

    Attributes
    ----------
    y : array
        The observation, with a column of NaN.
    psf : array
        The point-spread function.
    places, fluxes : arrays
        The stars.
    clean : array
        The true image before the atmosphere, without sky.
    sky : array
        The level of the sky in y.
    noise : float
        The noise of a pixel of sky.
    """

    y: NDArray[np.float64]
    psf: NDArray[np.float64]
    places: NDArray[np.float64]
    fluxes: NDArray[np.float64]
    clean: NDArray[np.float64]
    sky: NDArray[np.float64]
    noise: float

    @property
    def star_noise(self) -> float:
        """The noise of the best measurement of a faint star's flux."""
        return self.noise / math.sqrt(float(np.sum(self.psf**2)))


def simulated(
    size: int = 256,
    seed: int = 0,
    *,
    stars: int | None = None,
    subtracted: bool = False,
    uniform: bool = False,
    full_well: float = math.inf,
    nan_column: bool = True,
    brightest: float = BRIGHTEST,
    slope: float = 0.0,
) -> Field:
    """Simulate an exposure.

    Parameters
    ----------
    size, seed : int
        Pixels along each side, and the seed.
    stars : int, optional
        How many; by default one for every 900 pixels.
    subtracted : bool
        Whether the sky has been subtracted.
    uniform : bool
        Whether the noise is that of the sky everywhere, without that of the stars' own photons.
    full_well : float
        Where pixels saturate.
    nan_column : bool
        Whether a column is missing.
    brightest : float
        The flux of the brightest star.
    slope : float
        By how many electrons the sky is brighter at the right than at the left.
    """
    rng = np.random.default_rng(seed)
    count = size * size // 900 if stars is None else stars
    fluxes = np.geomspace(FAINTEST, brightest, count)
    edge = 14.0
    places = np.empty((0, 2))
    while len(places) < count:  # apart from each other, so that apertures tell whose light it is
        place = rng.uniform(edge, size - 1 - edge, 2)
        if len(places) == 0 or np.hypot(*(places - place).T).min() > 12:
            places = np.vstack([places, place])
    places = rng.permutation(places)
    clean = np.zeros((size, size))
    rows, columns = np.mgrid[:size, :size].astype(float)
    blurred = np.zeros((size, size))
    psf = moffat()
    for (row, column), flux in zip(places, fluxes, strict=True):
        i, j = int(row), int(column)
        a, b = row - i, column - j
        for di, dj, share in ((0, 0, (1 - a) * (1 - b)), (1, 0, a * (1 - b)), (0, 1, (1 - a) * b), (1, 1, a * b)):
            clean[i + di, j + dj] += flux * share
        # The atmosphere knows nothing of pixels: its profile is centred where the star is.
        alpha = 3.0 / (2 * math.sqrt(2 ** (1 / 3.5) - 1))
        profile = (1 + ((rows - row) ** 2 + (columns - column) ** 2) / alpha**2) ** -3.5
        blurred += flux * profile / (math.pi * alpha**2 / 2.5)
    galaxies = np.zeros((size, size))
    for _ in range(max(1, size * size // 20000)):
        row, column = rng.uniform(20, size - 20, 2)
        axes, angle = rng.uniform(2, 5), rng.uniform(0, math.pi)
        u = (rows - row) * math.cos(angle) + (columns - column) * math.sin(angle)
        v = (columns - column) * math.cos(angle) - (rows - row) * math.sin(angle)
        shape = np.exp(-np.sqrt(u**2 + (v / 0.6) ** 2) / axes)
        galaxies += rng.uniform(3000, 20000) * shape / shape.sum()
    clean += galaxies
    blurred += ndimage.convolve(galaxies, psf, mode="constant")
    level = SKY + slope * columns / (size - 1)
    sigma = math.sqrt(SKY + slope / 2 + READ**2)
    if uniform:
        y = blurred + level + sigma * rng.normal(size=blurred.shape)
    else:
        y = rng.poisson(blurred + level) + READ * rng.normal(size=blurred.shape)
    y = np.minimum(y, full_well)
    if nan_column:
        y[:, size // 3] = np.nan
    taken = SKY if subtracted else 0.0
    return Field(y - taken, psf, places, fluxes, clean, level - taken, sigma)


@dataclass(frozen=True)
class Photometry:
    """What became of a field.

    Attributes
    ----------
    total : float
        Relative error of the total flux above the sky.
    bright, faint : float
        Median relative error of aperture fluxes above 10 sigma, and from 4 to 6.5 sigma.
    kept : float
        Share of the stars from 4 to 8 sigma that stand out of the restored image.
    depth : float
        How far the darkest pixel is below the sky of its place, in units of a pixel's noise.
    dark : int
        How many pixels are further below than twice that noise.
    """

    total: float
    bright: float
    faint: float
    kept: float
    depth: float
    dark: int

    def __str__(self) -> str:
        return (
            f"total {100 * self.total:+5.2f} %  above 10 sigma {100 * self.bright:+5.1f} %  at 5 sigma "
            f"{100 * self.faint:+5.1f} %  faint kept {100 * self.kept:3.0f} %  darkest {self.depth:4.1f} sigma below, "
            f"{self.dark} by 2 or more"
        )


def apertures(image: NDArray[np.float64], places: NDArray[np.float64], radius: float = APERTURE) -> NDArray[np.float64]:
    """Return the sums over discs, each above the median of a ring around it."""
    rows, columns = np.indices(image.shape)
    sums = []
    for row, column in places:
        distance = np.hypot(rows - row, columns - column)
        ring = image[(distance > radius + 2) & (distance < radius + 6)]
        inside = image[distance <= radius]
        sums.append(float(np.sum(inside - np.nanmedian(ring))))
    return np.array(sums)


def measured(image: NDArray[np.float64], field: Field) -> Photometry:
    """Measure a restored image against the truth."""
    sky = field.sky
    truth = apertures(field.clean, field.places)
    found = apertures(image, field.places)
    error = found / truth - 1
    significance = field.fluxes / field.star_noise
    faint = (significance > 4) & (significance < 6.5)
    above = image - sky
    spread = 1.4826 * float(np.median(np.abs(above - np.median(above))))
    peaks = np.array(
        [above[max(int(r) - 1, 0) : int(r) + 3, max(int(c) - 1, 0) : int(c) + 3].max() for r, c in field.places]
    )
    stands = peaks - np.median(above) > max(5 * spread, 0.5 * field.noise)
    few = (significance > 4) & (significance < 8)
    return Photometry(
        total=float(np.sum(above) / field.clean.sum() - 1),
        bright=float(np.median(error[significance > 10])),
        faint=float(np.median(error[faint])) if faint.any() else math.nan,
        kept=float(np.mean(stands[few])) if few.any() else math.nan,
        depth=float(-above.min() / field.noise),
        dark=int(np.count_nonzero(above < -2 * field.noise)),
    )


def inpainting(field: Field) -> tuple[float, float]:
    """Return by how many standard deviations `inpaint` moves observed pixels: at the median, and at 99.9 %."""
    seen = np.isfinite(field.y)
    image = pp.inpaint(field.y, seen).image
    photons = np.maximum(ndimage.gaussian_filter(np.where(seen, field.y, field.sky), 0.7) - field.sky, 0)
    moved = np.abs(image - field.y)[seen] / np.sqrt(field.noise**2 + photons[seen])
    return float(np.median(moved)), float(np.quantile(moved, 0.999))


KINDS: dict[str, dict[str, Any]] = {
    "electrons": {},
    "sky subtracted": {"subtracted": True},
    "uniform noise": {"uniform": True},
    "uniform, saturated": {"uniform": True, "full_well": 15_000.0},
    "saturated": {"full_well": 15_000.0},
    "faint": {"brightest": 6_000.0},
    "faint, uniform": {"brightest": 3_000.0, "uniform": True},
    "uneven sky": {"slope": 100.0},
    "faint, uneven sky": {"brightest": 6_000.0, "slope": 100.0},
}


def main() -> None:
    """Print the photometry of all kinds of fields."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4])
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--show", type=Path, help="a folder for pictures: observed, restored, true")
    options = parser.parse_args()
    for kind in options.kinds:
        errors, significances = [], []
        for seed in options.seeds:
            field = simulated(options.size, seed, **KINDS[kind])
            result = pp.deblur(field.y.astype(np.float32), field.psf, mask=np.isfinite(field.y))
            image = result.image.astype(np.float64)
            print(f"{kind}, field {seed}: {measured(image, field)}  {result.status.name}", flush=True)
            well = KINDS[kind].get("full_well", math.inf)
            full = field.fluxes * field.psf.max() > well
            if full.any():
                own = (apertures(image, field.places) / apertures(field.clean, field.places) - 1)[full]
                print(f"    {full.sum()} saturated stars: own flux {100 * own.min():+.1f} to {100 * own.max():+.1f} %")
            errors.append(apertures(image, field.places) / apertures(field.clean, field.places) - 1)
            significances.append(field.fluxes / field.star_noise)
            if options.show:
                show(options.show / f"{kind.replace(' ', '-')}-{seed}.png", field, image)
        error, significance = np.concatenate(errors), np.concatenate(significances)
        faint = (significance > 4) & (significance < 6.5)
        print(
            f"{kind}, all stars: above 10 sigma {100 * np.median(error[significance > 10]):+.1f} %, at 5 sigma "
            f"{100 * np.median(error[faint]):+.1f} % (median of {faint.sum()}; its own standard error is "
            f"{125 * np.std(error[faint]) / math.sqrt(faint.sum()):.0f} %)",
            flush=True,
        )
    middle, most = inpainting(simulated(options.size, options.seeds[0]))
    print(f"inpaint moves observed pixels by {middle:.2f} (median) and {most:.2f} (99.9 %) standard deviations")


def show(path: Path, field: Field, image: NDArray[np.float64]) -> None:
    """Write observed, restored and true image side by side, on an asinh stretch."""
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    images = (np.where(np.isfinite(field.y), field.y, field.sky), image, field.clean + field.sky)
    shown = [np.clip((np.arcsinh((each - field.sky) / field.noise) + 1) / 8, 0, 1) for each in images]
    Image.fromarray((255 * np.hstack(shown)).astype(np.uint8)).save(path)


if __name__ == "__main__":
    main()
