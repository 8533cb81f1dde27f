"""Train the network on the CPU: ``python -m training.train --minutes 60``, and ``--resume`` to go on.

A run is a pure function of the seed: batches depend on the seed and the step alone, the learning rate on the step
alone, and a checkpoint holds everything else. The learning rate falls with the root of the step and the weights that
ship are an average over the last steps, so that training may end, and go on, at any time.
"""

from __future__ import annotations

import argparse
import csv
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from plugplay.denoisers.net.module import Network
from training.held_out import LEVELS
from training.judging import held_out_pairs, judge
from training.optimizer import optimizer_for
from training.patches import Batch, Patches
from training.photographs import cache_folder, load
from training.pilots import Pairs, load_pairs

__all__ = ["CHECKPOINT", "COMMITTED", "CURVE", "Trainer", "main"]

CHECKPOINT, CURVE = cache_folder() / "net.pt", Path(__file__).parent / "curve.csv"
# Where a new machine goes on: the checkpoint of the weights that ship.
COMMITTED = Path(__file__).parent / "checkpoints" / "net.pt"
SIZE, COUNT = 48, 8
WARM_UP, SLOWING = 200, 1000
# The average reaches back over about a tenth of all steps: its weight for step t grows as t to this power.
AVERAGING_POWER = 9
SAVE_SECONDS, JUDGE_STEPS = 60, 1000
COLUMNS = ["step", "cpu seconds", "loss"] + [f"{kind} {level}" for kind in ("gray", "colour") for level in LEVELS]


@dataclass(eq=False)
class Trainer:
    """Network, average, optimiser, and what it took so far."""

    network: Network
    average: Network
    optimizer: torch.optim.Optimizer
    step: int = 0
    cpu_seconds: float = 0.0

    @classmethod
    def new(cls, seed: int) -> Trainer:
        """Return a trainer at step 0."""
        torch.manual_seed(seed)
        network, average = Network(), Network()
        network, average = (net.to(memory_format=torch.channels_last) for net in (network, average))
        average.load_state_dict(network.state_dict())
        return cls(network, average.requires_grad_(False), optimizer_for(network))

    def take(self, batch: Batch) -> float:
        """Take one step and return the loss."""
        factor = min(1, (self.step + 1) / WARM_UP) / (1 + self.step / SLOWING) ** 0.5
        for group in self.optimizer.param_groups:
            group["lr"] = factor * group["base_lr"]
        loss = loss_of(self.network, batch)
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        self.optimizer.step()
        self.step += 1
        keep = (1 - 1 / self.step) ** (AVERAGING_POWER + 1)
        with torch.no_grad():
            for mean, now in zip(self.average.parameters(), self.network.parameters(), strict=True):
                mean.lerp_(now, 1 - keep)
        return float(loss.detach())

    def save(self, path: Path) -> None:
        """Write a checkpoint; a run that is killed meanwhile leaves the old one."""
        content = {
            "network": self.network.state_dict(),
            "average": self.average.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "step": self.step,
            "cpu_seconds": self.cpu_seconds,
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".part")
        torch.save(content, partial)
        partial.replace(path)

    def restore(self, path: Path) -> None:
        """Read a checkpoint."""
        content: dict[str, Any] = torch.load(path, weights_only=True)
        self.network.load_state_dict(content["network"])
        self.average.load_state_dict(content["average"])
        rates = [group["base_lr"] for group in self.optimizer.param_groups]
        self.optimizer.load_state_dict(content["optimizer"])
        # The rates are those of this program, not those of the one that wrote the checkpoint.
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            group["base_lr"] = rate
        self.step, self.cpu_seconds = content["step"], content["cpu_seconds"]


def loss_of(network: Network, batch: Batch) -> Tensor:
    """Return the squared error relative to BM3D's: 1 where the network corrects nothing, less where it helps."""
    rest, detail, error, facts, weight = (
        torch.from_numpy(array) for array in (batch.rest, batch.detail, batch.error, batch.facts, batch.weight)
    )
    # BM3D leaves a gray image's chrominances at zero; what the network says of them is not looked at.
    kept = torch.cat([torch.ones_like(facts[:, :1]), facts[:, :1], facts[:, :1]], dim=1)
    errors = (kept * (network(rest, detail, facts) - error).square()).sum(dim=1, keepdim=True).mean(dim=(2, 3))
    return (errors * weight[:, 0, 0]).mean()


class Curve:
    """The CSV file with one row per judgement. Rows after the step of a checkpoint are written again on resuming."""

    def __init__(self, path: Path, *, step: int) -> None:
        self.path = path
        rows = list(csv.reader(path.read_text().splitlines())) if step and path.exists() else []
        self.rows = [row for row in rows[1:] if int(row[0]) <= step]

    def add(self, row: list[str]) -> None:
        """Write one more row, and the file as a whole."""
        self.rows.append(row)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        partial = self.path.with_suffix(".part")
        with partial.open("w", newline="") as file:
            csv.writer(file).writerows([COLUMNS, *self.rows])
        partial.replace(self.path)


def main() -> None:
    """Train for some minutes."""
    parser = argparse.ArgumentParser(description="Train the network; --resume goes on from the last checkpoint.")
    parser.add_argument("--minutes", type=float, default=60, help="end after this time")
    parser.add_argument("--steps", type=int, help="end when this many steps have been taken in all, if that is sooner")
    parser.add_argument("--resume", action="store_true", help="go on from the last checkpoint, or the repository's")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.use_deterministic_algorithms(True)
    folder = cache_folder()
    patches = Patches(load_pairs(folder, seed=options.seed), seed=options.seed, size=SIZE, count=COUNT)
    held_out = held_out_pairs(folder, load(folder).held_out)
    trainer = Trainer.new(options.seed)
    if options.resume:
        trainer.restore(CHECKPOINT if CHECKPOINT.exists() else COMMITTED)
    train(trainer, patches, held_out, minutes=options.minutes, steps=options.steps)


def train(trainer: Trainer, patches: Patches, held_out: Pairs, *, minutes: float, steps: int | None) -> None:
    """Take steps until time is up, judging and saving now and then."""
    curve = Curve(CURVE, step=trainer.step)
    begin = saved = time.monotonic()
    before, cpu = trainer.cpu_seconds, time.process_time()
    losses: list[float] = []
    while time.monotonic() - begin < 60 * minutes and trainer.step != steps:
        losses.append(trainer.take(patches.batch(trainer.step)))
        trainer.cpu_seconds = before + time.process_time() - cpu
        if trainer.step % JUDGE_STEPS == 0:
            scores = judge(trainer.average, held_out)
            row = [str(trainer.step), f"{trainer.cpu_seconds:.0f}", f"{np.mean(losses):.4f}"]
            curve.add(row + [f"{score:.3f}" for score in scores])
            losses.clear()
        if time.monotonic() - saved > SAVE_SECONDS:
            trainer.save(CHECKPOINT)
            saved = time.monotonic()
    trainer.save(CHECKPOINT)


if __name__ == "__main__":
    main()
