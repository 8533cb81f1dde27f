"""Fetch the photographs, refuse those whose licence does not allow it, and prepare what training reads.

``python -m training.photographs`` writes into the user's cache, once; it also writes the lists of attributions that
ship with the weights.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from platformdirs import user_cache_path

from training.leaves import dead_leaves
from training.sources import HELD_OUT, Photograph, bundled, from_debian

__all__ = ["HELD_OUT", "Material", "cache_folder", "load", "prepare"]

SOURCES = Path(__file__).parents[1] / "src"
# Where the lists of attributions go, and what the weights beside them are for.
ATTRIBUTIONS = {
    SOURCES / "plugplay/denoisers/net/attribution.md": 'the denoiser "net"',
    SOURCES / "plugplay/denoisers/bm3d/attribution.md": "the fourth stage of BM3D",
    SOURCES / "plugplay_paper/baselines/weights/attribution.md": "the baselines DCNN and SPSR",
}
# Traces of compression fade when pixels are averaged: halve until the file spends this many bits on a pixel.
MIN_BITS_PER_PIXEL = 2.5
SCALES = (1.0, 0.7, 0.5)
MIN_SIDE = 160
LEAVES, LEAVES_SIZE = 12, 768


@dataclass(frozen=True, eq=False)
class Material:
    """Prepared images, uint16 ``(H, W, 3)``: for training at several scales, held out at one."""

    training: dict[str, NDArray[np.uint16]]
    held_out: dict[str, NDArray[np.uint16]]


def cache_folder() -> Path:
    """Return the folder for downloads and prepared images."""
    return user_cache_path("plugplay", ensure_exists=True) / "training"


def prepare(folder: Path) -> None:
    """Fetch everything and write the prepared images and the attributions."""
    folder.mkdir(parents=True, exist_ok=True)
    photographs = sorted([*from_debian(folder), *bundled()], key=lambda photograph: photograph.name)
    usable = [photograph for photograph in photographs if photograph.usable]
    training, palettes = {}, []
    held_out = {photograph.name: _quantised(decoded(photograph)) for photograph in usable if photograph.held_out}
    for photograph in usable:
        if not photograph.held_out:
            image = decoded(photograph)
            palettes.append(image[::16, ::16].reshape(-1, 3))
            training.update({f"{photograph.name} x{s}": _quantised(_scaled(image, s)) for s in _scales(image)})
    for index in range(LEAVES):
        image = dead_leaves(LEAVES_SIZE, palettes[index % len(palettes)], np.random.default_rng([17, index]))
        training[f"leaves {index}"] = _quantised(image)
    for name, images in (("training", training), ("held-out", held_out)):
        np.savez(folder / f"{name}.npz", allow_pickle=False, **images)
    for path, purpose in ATTRIBUTIONS.items():
        path.write_text(attribution(photographs, purpose))


def load(folder: Path) -> Material:
    """Read what `prepare` wrote."""
    if not (folder / "held-out.npz").exists():
        raise FileNotFoundError(f"no prepared images in {folder}: run python -m training.photographs first")
    with np.load(folder / "training.npz") as training, np.load(folder / "held-out.npz") as held_out:
        return Material(dict(training), dict(held_out))


def decoded(photograph: Photograph) -> NDArray[np.float32]:
    """Return the photograph on [0, 1], halved until compression has left no traces."""
    with Image.open(io.BytesIO(photograph.content)) as file:
        image: NDArray[np.float32] = np.asarray(file.convert("RGB"), np.float32) / np.float32(255)
    if photograph.name.endswith(".jpg"):
        while 8 * len(photograph.content) < MIN_BITS_PER_PIXEL * image.shape[0] * image.shape[1]:
            rows, columns = image.shape[0] // 2, image.shape[1] // 2
            image = image[: 2 * rows, : 2 * columns].reshape(rows, 2, columns, 2, 3).mean(axis=(1, 3), dtype=np.float32)
    return image


def attribution(photographs: list[Photograph], purpose: str) -> str:
    """Return the list of what was used and what was refused, in Markdown."""
    lines = [
        f"# Photographs behind the weights of {purpose}",
        "",
        "Written by `python -m training.photographs` from the copyright files of the packages.",
        "",
        "| photograph | by | licence | from | used for |",
        "|---|---|---|---|---|",
    ]
    lines += [
        _row(photograph, "judging only" if photograph.held_out else "training")
        for photograph in photographs
        if photograph.usable
    ]
    lines += ["", "Not used: " + "; ".join(_refusals(photographs)) + ".", ""]
    return "\n".join(lines)


def _row(photograph: Photograph, use: str) -> str:
    terms = photograph.terms
    holder, licence = (terms.holder, terms.licence) if terms else ("", "")
    return f"| {photograph.name} | {holder} | {licence} | {photograph.origin} | {use} |"


def _refusals(photographs: list[Photograph]) -> Iterator[str]:
    for photograph in photographs:
        if not photograph.usable:
            terms = photograph.terms
            why = "no terms" if terms is None else "a drawing" if terms.free else terms.licence
            yield f"{photograph.name} ({why})"


def _scales(image: NDArray[np.float32]) -> list[float]:
    return [scale for scale in SCALES if scale == 1 or scale * min(image.shape[:2]) >= MIN_SIDE]


def _scaled(image: NDArray[np.float32], scale: float) -> NDArray[np.float32]:
    if scale == 1:
        return image
    size = (round(image.shape[1] * scale), round(image.shape[0] * scale))
    planes = (
        Image.fromarray(np.ascontiguousarray(image[..., c])).resize(size, Image.Resampling.BICUBIC) for c in (0, 1, 2)
    )
    return np.stack([np.asarray(plane) for plane in planes], axis=-1)


def _quantised(image: NDArray[np.float32]) -> NDArray[np.uint16]:
    return np.rint(65535 * np.clip(image, 0, 1)).astype(np.uint16)


if __name__ == "__main__":
    prepare(cache_folder())
    print(f"prepared images are in {cache_folder()}; attributions in {SOURCES}")
