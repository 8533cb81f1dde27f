"""Train the network of Dong, Loy and He: ``python -m training.dcnn 2``, and ``--resume`` to go on.

Three layers of convolutions see the bicubic interpolation of a small image: 64 filters of 9x9, 32 of 5x5 and one of
5x5. The authors let the network return the image; here it returns what interpolation lacks, which begins closer to the
end. Adam with a rate that falls to zero takes thousands of steps where they took hundreds of millions of small ones.

A run is a pure function of factor, seed and number of steps: batches and rate depend on the step alone, and the
checkpoint holds everything else.
"""

from __future__ import annotations

import argparse
import csv
import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from plugplay import psnr
from plugplay.models import SuperResolution
from plugplay_paper.baselines import convolutional
from plugplay_paper.baselines.back_projection import bicubic
from training.decimated import Squares, held_out_crops, squares
from training.photographs import cache_folder

__all__ = ["Trainer", "main", "weights_of"]

FIRST, SECOND, LAST = 9, 5, 5
SQUARES, SIZE, BATCH = 6000, 64, 8
STEPS, RATE, WARM_UP = 5000, 1e-3, 200
SAVE_SECONDS, JUDGE_STEPS = 60, 500
CURVES = Path(__file__).parent / "curves"
COLUMNS = ["step", "cpu seconds", "loss", "gain"]


@dataclass(eq=False)
class Trainer:
    """Network and optimiser, and what it took so far."""

    network: nn.Sequential
    optimizer: torch.optim.Optimizer
    seed: int
    steps: int
    step: int = 0
    cpu_seconds: float = 0.0

    @classmethod
    def new(cls, *, seed: int, steps: int) -> Trainer:
        """Return a trainer at step 0, whose network adds nothing to the interpolation."""
        torch.manual_seed(seed)
        network = nn.Sequential(
            nn.Conv2d(1, 64, FIRST), nn.ReLU(), nn.Conv2d(64, 32, SECOND), nn.ReLU(), nn.Conv2d(32, 1, LAST)
        ).to(memory_format=torch.channels_last)
        for layer in network:
            if isinstance(layer, nn.Conv2d):
                nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
                nn.init.zeros_(layer.bias)
        nn.init.zeros_(network[-1].weight)
        return cls(network, torch.optim.Adam(network.parameters(), betas=(0.9, 0.99)), seed, steps)

    def take(self, material: Squares) -> float:
        """Take one step and return the loss, the squared error relative to that of interpolation."""
        rate = RATE * min(1, (self.step + 1) / WARM_UP) * 0.5 * (1 + math.cos(math.pi * self.step / self.steps))
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        smooth, truth = self._batch(material)
        cut = (FIRST + SECOND + LAST - 3) // 2
        inner = smooth[..., cut:-cut, cut:-cut]
        missing = truth[..., cut:-cut, cut:-cut] - inner
        loss = (self.network(smooth - 0.5) - missing).square().mean()
        self.optimizer.zero_grad()
        (1e3 * loss).backward()
        self.optimizer.step()
        self.step += 1
        return float(loss.detach() / missing.square().mean())

    def _batch(self, material: Squares) -> tuple[torch.Tensor, torch.Tensor]:
        rng = np.random.default_rng([self.seed, self.step])
        chosen = rng.integers(0, len(material.truth), BATCH)
        turns, flips = rng.integers(0, 4, BATCH), rng.integers(0, 2, BATCH)

        def turned(images: Any) -> torch.Tensor:
            rows = [np.rot90(images[n], t)[:: 1 - 2 * f] for n, t, f in zip(chosen, turns, flips, strict=True)]
            return torch.from_numpy(np.stack(rows)[:, None]).contiguous(memory_format=torch.channels_last)

        return turned(material.interpolated), turned(material.truth)

    def save(self, path: Path) -> None:
        """Write a checkpoint; a run that is killed meanwhile leaves the old one."""
        content = {
            "network": self.network.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "progress": [self.seed, self.steps, self.step, self.cpu_seconds],
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".part")
        torch.save(content, partial)
        partial.replace(path)

    @classmethod
    def restored(cls, path: Path) -> Trainer:
        """Read a checkpoint."""
        content: dict[str, Any] = torch.load(path, weights_only=True)
        seed, steps, step, cpu_seconds = content["progress"]
        trainer = cls.new(seed=seed, steps=steps)
        trainer.network.load_state_dict(content["network"])
        trainer.optimizer.load_state_dict(content["optimizer"])
        trainer.step, trainer.cpu_seconds = step, cpu_seconds
        return trainer


def weights_of(network: nn.Sequential) -> convolutional.Weights:
    """Return what `plugplay_paper` computes with."""
    arrays = [
        array.detach().numpy().copy()
        for layer in network
        if isinstance(layer, nn.Conv2d)
        for array in (layer.weight, layer.bias)
    ]
    return convolutional.Weights(*arrays)


def judge(network: nn.Sequential, crops: list[Any], factor: int) -> float:
    """Return the mean gain in PSNR over interpolation on photographs that are not trained on, in dB."""
    weights = weights_of(network)
    gains = []
    for crop in crops:
        y = SuperResolution(factor).simulate(crop)
        found = convolutional.enlarged(y, factor, weights)
        gains.append(psnr(found, crop, border=8) - psnr(bicubic(y, factor), crop, border=8))
    return float(np.mean(gains))


def main() -> None:
    """Train, and export the weights at the end."""
    parser = argparse.ArgumentParser(
        description="Train the network of one factor; --resume goes on from its checkpoint."
    )
    parser.add_argument("factor", type=int, choices=(2, 4))
    parser.add_argument(
        "--steps", type=int, default=STEPS, help="how many steps in all; the rate falls to zero at the end"
    )
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after this time; --resume goes on")
    parser.add_argument("--resume", action="store_true", help="go on from the checkpoint")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    checkpoint = cache_folder() / f"dcnn-x{options.factor}.pt"
    resumed = options.resume and checkpoint.exists()
    trainer = Trainer.restored(checkpoint) if resumed else Trainer.new(seed=options.seed, steps=options.steps)
    train(trainer, options.factor, checkpoint, minutes=options.minutes)
    if trainer.step == trainer.steps:
        convolutional.save(weights_of(trainer.network), options.factor)


def train(trainer: Trainer, factor: int, checkpoint: Path, *, minutes: float) -> None:
    """Take steps until all are taken or time is up, judging and saving now and then."""
    folder = cache_folder()
    material = squares(folder, factor, count=SQUARES, size=SIZE, seed=trainer.seed)
    crops = held_out_crops(folder)
    rows = _rows(CURVES / f"dcnn-x{factor}.csv", trainer.step)
    begin = saved = time.monotonic()
    before, cpu = trainer.cpu_seconds, time.process_time()
    losses: list[float] = []
    while trainer.step < trainer.steps and time.monotonic() - begin < 60 * minutes:
        losses.append(trainer.take(material))
        trainer.cpu_seconds = before + time.process_time() - cpu
        if trainer.step % JUDGE_STEPS == 0:
            gain = judge(trainer.network, crops, factor)
            rows.append([str(trainer.step), f"{trainer.cpu_seconds:.0f}", f"{np.mean(losses):.4f}", f"{gain:.3f}"])
            _write(CURVES / f"dcnn-x{factor}.csv", rows)
            losses.clear()
        if time.monotonic() - saved > SAVE_SECONDS:
            trainer.save(checkpoint)
            saved = time.monotonic()
    trainer.save(checkpoint)


def _rows(path: Path, step: int) -> list[list[str]]:
    """Return what the curve holds up to the step of the checkpoint."""
    rows = list(csv.reader(path.read_text().splitlines()))[1:] if step and path.exists() else []
    return [row for row in rows if int(row[0]) <= step]


def _write(path: Path, rows: list[list[str]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".part")
    with partial.open("w", newline="") as file:
        csv.writer(file).writerows([COLUMNS, *rows])
    partial.replace(path)


if __name__ == "__main__":
    main()
