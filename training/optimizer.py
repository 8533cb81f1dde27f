"""Muon for the hidden convolutions, Adam for the first and last layer.

Muon (Jordan et al., 2024) replaces the momentum of a weight matrix M = U S Vᵀ by its nearest orthogonal matrix U Vᵀ, so
that all directions of a layer learn at the same pace; the matrix comes from a few Newton–Schulz iterations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

__all__ = ["Mixed", "nearest_orthogonal", "optimizer_for"]

MUON_RATE, ADAM_RATE = 0.02, 1e-3
MOMENTUM, BETAS, EPSILON = 0.95, (0.9, 0.99), 1e-8
# An odd polynomial that moves singular values from (0, 1] towards 1 quickly, ending between 0.7 and 1.2.
NEWTON_SCHULZ, ITERATIONS = (3.4445, -4.7750, 2.0315), 5


def nearest_orthogonal(matrix: Tensor) -> Tensor:
    """Return, roughly, U Vᵀ of the matrix U S Vᵀ.

    Examples
    --------
    >>> found = nearest_orthogonal(torch.diag(torch.tensor([3.0, 0.5])))
    >>> bool((torch.linalg.svdvals(found) > 0.6).all())
    True
    """
    a, b, c = NEWTON_SCHULZ
    x = matrix / (matrix.norm() + 1e-7)
    flip = x.shape[0] > x.shape[1]
    x = x.T if flip else x
    for _ in range(ITERATIONS):
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.T if flip else x


class Mixed(torch.optim.Optimizer):
    """Muon or Adam, as each group of parameters says."""

    def __init__(self, groups: list[dict[str, Any]]) -> None:
        super().__init__(groups, {"lr": 0.0, "base_lr": 0.0, "muon": False})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:
        """Update all parameters."""
        if closure is not None:
            raise ValueError("a closure is not supported")
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is not None:
                    update = self._muon(weight) if group["muon"] else self._adam(weight)
                    weight.sub_(update, alpha=group["lr"])

    def _muon(self, weight: Tensor) -> Tensor:
        state = self.state[weight]
        mean = state.setdefault("mean", torch.zeros_like(weight))
        mean.lerp_(weight.grad, 1 - MOMENTUM)
        ahead = weight.grad.lerp(mean, MOMENTUM).flatten(1)
        rows, columns = ahead.shape
        return nearest_orthogonal(ahead).reshape(weight.shape) * max(1.0, rows / columns) ** 0.5

    def _adam(self, weight: Tensor) -> Tensor:
        state = self.state[weight]
        if not state:
            state.update(count=0, mean=torch.zeros_like(weight), square=torch.zeros_like(weight))
        state["count"] += 1
        state["mean"].lerp_(weight.grad, 1 - BETAS[0])
        state["square"].lerp_(weight.grad.square(), 1 - BETAS[1])
        mean, square = (
            state[key] / (1 - beta ** state["count"]) for key, beta in zip(("mean", "square"), BETAS, strict=True)
        )
        return mean / (square.sqrt() + EPSILON)


def optimizer_for(network: nn.Module) -> Mixed:
    """Return the optimiser of all weights of a network with `head` and `tail`."""
    weights = dict(network.named_parameters())
    hidden = {name for name in weights if name.startswith("body.") and name.endswith(".weight")}
    return Mixed(
        [
            {"params": [weights[name] for name in weights if name in hidden], "muon": True, "base_lr": MUON_RATE},
            {"params": [weights[name] for name in weights if name not in hidden], "muon": False, "base_lr": ADAM_RATE},
        ]
    )
