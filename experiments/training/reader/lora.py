"""Low-rank adapters in training: a frozen matrix and a learned one of low rank beside it."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn

from tape.lm.adapter import MATRICES


class LowRank(nn.Module):
    """``base(x) + scale * x A' B'``.

    Args:
        base: The frozen layer.
        rank: Columns of B and rows of A.
        scale: Of what is added.
    """

    def __init__(self, base: nn.Linear, rank: int, scale: float) -> None:
        super().__init__()
        self.base, self.scale = base, scale
        self.down = nn.Parameter(torch.empty(rank, base.in_features))
        self.up = nn.Parameter(torch.zeros(base.out_features, rank))  # what is added starts as nothing
        nn.init.kaiming_uniform_(self.down, a=math.sqrt(5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(..., in) to (..., out)."""
        out: torch.Tensor = self.base(x)
        added = (x @ self.down.T.to(x.dtype)) @ self.up.T.to(x.dtype)
        return out + self.scale * added


def adapt(model: Any, rank: int, scale: float, first: int) -> dict[str, LowRank]:
    """Freeze a Llama of transformers, and put adapters beside the matrices of its layers from ``first`` on.

    Returns:
        The adapters by the names of their matrices, as the base's files have them.
    """
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    found: dict[str, LowRank] = {}
    for number, layer in enumerate(model.model.layers):
        if number < first:
            continue
        for part, name in MATRICES:
            block = getattr(layer, part)
            made = LowRank(getattr(block, name), rank, scale)
            setattr(block, name, made)
            found[f"model.layers.{number}.{part}.{name}.weight"] = made
    return found
