"""How far automatic deblurring is from the best lambda, and whether it is ever worse than its input.

Run with ``python benchmarks/automatic.py --quick``, ``--sample N`` or nothing for the whole grid: kernels x noise x
images, the plain case and every mismatch of `degradations.VARIANTS`. Each case compares

* automatic: ``deblur(y, kernel)``, noise unknown (or told wrongly, where that is the mismatch);
* the best of a sweep over lambda/s², s being the true noise;
* Richardson-Lucy with 30 iterations and the unsupervised Wiener filter of scikit-image, on the mirrored image;
* a single automatic denoising without deblurring, and the input.

The frame is a window of a larger scene (boundary "unknown"). What was measured is appended to a file of JSON lines, so
that a run that was stopped goes on where it was: rerun to resume. Figures of a part are used again only as long as the
code they depend on is the same. The exit code is 1 if any automatic result is more than 0.1 dB below its input.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import photographs
from automatic_report import TOLERATED_LOSS, draw, failures, print_report
from degradations import KERNELS, MATCHED, REACH, VARIANTS, Array, observe, psnr, taps, truth
from platformdirs import user_cache_path
from skimage.restoration import richardson_lucy, unsupervised_wiener

import plugplay as pp

NOISES = (0.5, 2.0, 5.0, 10.0, 20.0)
# Values of lambda/s².
SWEEP = (0.1, 0.16, 0.25, 0.38, 0.55, 0.8, 1.2, 1.9, 3.0)
MIN_NOISE = 0.6 / 255
SIZE = 128
ITERATIONS = 30
QUICK = {"images": ("camera", "chelsea"), "kernels": ("gaussian 1", "motion 9"), "noise": (2.0, 10.0)}
# What the parts of a case depend on.
LOOP = ("arrays", "denoisers", "models", "pnp")
CODE = {
    "peers": (),
    "sweep": (*LOOP, "clipping.py", "tuning/background.py"),
    "automatic": (*LOOP, "noise", "tuning", "plan.py", "clipping.py", "posing.py", "watching.py", "restoration.py"),
}


@dataclass(frozen=True)
class Case:
    """One image that was blurred once."""

    image: str
    kernel: str
    noise: float
    variant: str
    size: int

    @property
    def seed(self) -> int:
        """Of the noise: the same for all variants."""
        return int.from_bytes(hashlib.sha256(f"{self.image} {self.kernel} {self.noise}".encode()).digest()[:4])


@cache
def fingerprint(part: str) -> str:
    """Return what changes when the code changes that a part of the figures depends on."""
    here = Path(__file__).parent
    digest = hashlib.sha256(b"".join((here / name).read_bytes() for name in ("degradations.py", "photographs.py")))
    root = Path(pp.__file__).parent
    for name in CODE[part]:
        for path in sorted((root / name).rglob("*.py")) if (root / name).is_dir() else [root / name]:
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


class Problem:
    """A case with its arrays."""

    def __init__(self, case: Case) -> None:
        self.variant = VARIANTS[case.variant]
        scene = photographs.crop(case.image, case.size + 2 * (REACH + 2))
        self.truth = truth(scene)
        self.mask = photographs.mask(case.image, case.size)
        self.noise = case.noise / 255
        self.y = observe(scene, case.kernel, self.noise, self.variant, case.seed)
        self.kernel = taps(case.kernel, self.variant)
        unit = self.y / 255 if self.y.dtype == np.uint8 else self.y
        self.input = photographs.filled(unit, self.mask)

    def psnr(self, image: Array) -> float:
        """Return the PSNR against the truth."""
        return psnr(image, self.truth, registered=self.variant.shift != 0)

    def restore(self, *, noise: float | None, lam: float | None = None) -> pp.Result:
        """Deblur with what is told."""
        axis = -1 if self.y.ndim == 3 else None
        return pp.deblur(
            self.y, self.kernel, mask=self.mask, noise=noise, lam=lam, channel_axis=axis, data_range=None, workers=1
        )

    def automatic(self) -> dict[str, Any]:
        """Return what nobody tuned, and the same for a plain denoising."""
        told = None if self.variant.noise is None else self.variant.noise * self.noise
        began = time.process_time()
        result = self.restore(noise=told)
        seconds = time.process_time() - began
        axis = -1 if self.y.ndim == 3 else None
        plain = pp.denoise(self.input.astype(np.float32), noise=told, channel_axis=axis, workers=1)
        return {
            "automatic": self.psnr(result.image),
            "denoised": self.psnr(plain.image),
            "assumed noise": 255 * float(result.parameters.noise),
            "lambda per variance": float(result.parameters.lam) / max(self.noise, MIN_NOISE) ** 2,
            "status": result.status.name,
            "warnings": list(result.warnings),
            "seconds": seconds,
        }

    def sweep(self) -> dict[str, Any]:
        """Return the PSNR of every lambda."""
        variance = max(self.noise, MIN_NOISE) ** 2
        return {
            "sweep": [self.psnr(self.restore(noise=self.noise, lam=ratio * variance).image) for ratio in SWEEP],
        }

    def peers(self) -> dict[str, Any]:
        """Return the input, and what scikit-image makes of it."""
        return {
            "input": self.psnr(self.input),
            "richardson-lucy": self.psnr(self._mirrored(_richardson_lucy)),
            "wiener": self.psnr(self._mirrored(_wiener)),
        }

    def _mirrored(self, method: Callable[[Array, Array], Array]) -> Array:
        """Apply a method that knows no border to each channel of the mirrored image."""
        channels = self.input[..., None] if self.input.ndim == 2 else self.input
        margin = 2 * REACH
        out = [method(np.pad(c, margin, mode="reflect"), self.kernel) for c in np.moveaxis(channels, -1, 0)]
        return np.stack(out, axis=-1)[margin:-margin, margin:-margin].reshape(self.input.shape)


def _richardson_lucy(image: Array, kernel: Array) -> Array:
    return richardson_lucy(np.clip(image, 1e-4, 1), kernel, num_iter=ITERATIONS, clip=True)


def _wiener(image: Array, kernel: Array) -> Array:
    return unsupervised_wiener(image, kernel, clip=False, rng=0)[0]


class Store:
    """Figures on disk, one JSON line for each part of a case."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.known: dict[str, dict[str, Any]] = {}
        if path.exists():
            for line in path.read_text().splitlines():
                entry = json.loads(line)
                self.known[entry["key"]] = entry["figures"]

    def get(self, case: Case, part: str, measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return stored figures, or measure and store them."""
        key = json.dumps([*asdict(case).values(), part, fingerprint(part)])
        if key not in self.known:
            self.known[key] = measure()
            with self.path.open("a") as file:
                file.write(json.dumps({"key": key, "figures": self.known[key]}) + "\n")
        return self.known[key]


def measure(case: Case, store: Store, *, sweep: bool) -> dict[str, Any]:
    """Return all figures of a case."""
    problem = cache(lambda: Problem(case))  # made only if something is missing
    parts = ("peers", "automatic", "sweep") if sweep else ("peers", "automatic")
    row: dict[str, Any] = asdict(case) | {"found on": photographs.SOURCES[case.image].found_on}
    for part in parts:
        row |= store.get(case, part, lambda part=part: getattr(problem(), part)())
    if sweep:
        row["best"] = max(row["sweep"])
        row["best ratio"] = SWEEP[int(np.argmax(row["sweep"]))]
        row["gap"] = row["best"] - row["automatic"]
    row["gain"] = row["automatic"] - row["input"]
    return row


def cases(arguments: argparse.Namespace) -> list[Case]:
    """Return the grid, or a random part of it."""
    variants = [
        name
        for name in arguments.variants or VARIANTS
        if not (arguments.mismatch_only and name == MATCHED) and not (arguments.matched_only and name != MATCHED)
    ]
    if arguments.stratified:
        return stratified(arguments, variants)
    grid = itertools.product(arguments.images, arguments.kernels, arguments.noise, variants)
    found = [
        Case(image, kernel, noise, variant, arguments.size)
        for image, kernel, noise, variant in grid
        if VARIANTS[variant].concerns(KERNELS[kernel])
    ]
    if arguments.sample is None or arguments.sample >= len(found):
        return found
    order = np.random.default_rng(arguments.seed).permutation(len(found))
    return [found[index] for index in order[: arguments.sample]]


def stratified(arguments: argparse.Namespace, variants: list[str]) -> list[Case]:
    """Return every kernel with every noise once, with images and variants that take turns at random."""
    rng = np.random.default_rng(arguments.seed)
    pairs = list(itertools.product(arguments.kernels, arguments.noise))
    rng.shuffle(pairs)  # type: ignore[arg-type]  # lists are shuffled, too
    images: list[str] = []
    while len(images) < len(pairs):
        images += [str(name) for name in rng.permutation(arguments.images)]
    found = []
    for number, ((kernel, noise), image) in enumerate(zip(pairs, images, strict=False)):
        able = [name for name in variants if VARIANTS[name].concerns(KERNELS[kernel])]
        found.append(Case(image, kernel, noise, able[number % len(able)], arguments.size))
    return found[: arguments.sample]


def parsed(words: list[str] | None = None) -> argparse.Namespace:
    """Return the options."""
    folder = user_cache_path("plugplay") / "benchmarks"
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two images, two kernels, two noise levels, no sweep")
    parser.add_argument("--images", nargs="+", choices=tuple(photographs.SOURCES))
    parser.add_argument("--kernels", nargs="+", choices=tuple(KERNELS))
    parser.add_argument("--noise", nargs="+", type=float, help="standard deviations, times 255")
    parser.add_argument("--variants", nargs="+", choices=tuple(VARIANTS))
    parser.add_argument("--matched-only", action="store_true")
    parser.add_argument("--mismatch-only", action="store_true")
    parser.add_argument("--sample", type=int, help="take so many random cases of the grid")
    parser.add_argument("--stratified", action="store_true", help="each kernel with each noise once, on one image")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--size", type=int, default=SIZE, help="side of the frame in pixels")
    parser.add_argument("--no-sweep", action="store_true", help="leave out the best lambda, nine runs of ten")
    parser.add_argument("--no-download", action="store_true", help="do without photographs that are not here yet")
    parser.add_argument("--minutes", type=float, default=math.inf, help="stop after this time and report")
    parser.add_argument("--store", type=Path, default=folder / "automatic.jsonl", help="figures measured so far")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--plot", type=Path, help="draw a heat map into this file")
    arguments = parser.parse_args(words)
    here = photographs.available(download=not arguments.no_download)
    for name, everything in (("images", here), ("kernels", tuple(KERNELS)), ("noise", NOISES)):
        if getattr(arguments, name) is None:
            setattr(arguments, name, QUICK[name] if arguments.quick else everything)
    absent = [name for name in arguments.images if name not in here]
    if absent:
        parser.error(f"{', '.join(absent)}: these photographs could not be downloaded")
    arguments.no_sweep |= arguments.quick
    return arguments


def main() -> int:
    """Measure, report, and tell by the exit code whether something got worse than its input."""
    arguments = parsed()
    arguments.store.parent.mkdir(parents=True, exist_ok=True)
    store = Store(arguments.store)
    todo, rows = cases(arguments), []
    deadline = time.monotonic() + 60 * arguments.minutes
    for number, case in enumerate(todo, 1):
        row = measure(case, store, sweep=not arguments.no_sweep)
        rows.append(row)
        flag = "  WORSE THAN ITS INPUT" if row["gain"] < -TOLERATED_LOSS else ""
        best = f"  best {row['best']:6.2f} at {row['best ratio']:4.2f}" if "best" in row else ""
        print(
            f"{number:5}/{len(todo)} {case.image:10} {case.kernel:12} {case.noise:4g} {case.variant:18} "
            f"input {row['input']:6.2f}  automatic {row['automatic']:6.2f}{best}{flag}",
            flush=True,
        )
        if time.monotonic() > deadline:
            break
    print_report(rows)
    if arguments.json:
        arguments.json.write_text(json.dumps({"version": pp.__version__, "rows": rows}, indent=1) + "\n")
    if arguments.plot:
        draw(rows, arguments.plot)
    return 1 if failures(rows) else 0


if __name__ == "__main__":
    raise SystemExit(main())
