"""Low-rank adapters of a Llama's matrices, stored in eight bits, added to the weights before a model is opened.

An adapter is a folder with ``adapter.safetensors`` and ``card.json``. For each adapted matrix ``NAME`` of the base (as
its files call it) it has four tensors: ``NAME.down`` (rank, in) and ``NAME.up`` (out, rank) of int8, and
``NAME.down_scale`` (rank,) and ``NAME.up_scale`` (rank,) of float32. What is added is
``(up * up_scale) @ (down * down_scale[:, None])``.
"""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import torch
from pydantic import BaseModel, ConfigDict, Field

from tape.errors import ModelError
from tape.lm.weight_files import check_safetensors
from tape.reading import read_bytes, read_json, short

FILE, CARD = "adapter.safetensors", "card.json"
_WEIGHTS = "model.safetensors"
_PARTS = ("down", "up", "down_scale", "up_scale")
_KINDS = {"I8": torch.int8, "F32": torch.float32}
"""The kinds of numbers in an adapter, as safetensors calls them."""


class AdapterCard(BaseModel):
    """An adapter's ``card.json``, as far as it is read here.

    Attributes:
        name: For instance ``smollm2#reader``.
        base: The model that it belongs to.
        about: What it does.
        rank: Of its matrices.
    """

    model_config = ConfigDict(extra="allow", frozen=True)

    name: str
    base: str
    about: str
    rank: int = Field(ge=1, le=1 << 20)


def card_of(folder: Path) -> AdapterCard:
    """Read an adapter's card.

    Raises:
        ModelError: It cannot be read; names the file and the field.
    """
    return read_json(folder / CARD, AdapterCard, error=ModelError)


def adapter_digest(folder: Path) -> str:
    """A hash of an adapter's factors.

    Raises:
        ModelError: There is no such file, or it is none of tensors.
    """
    return hashlib.sha256(_content(folder / FILE)).hexdigest()[:16]


def load(folder: Path) -> dict[str, tuple[torch.Tensor, torch.Tensor]]:
    """Read an adapter's factors.

    Returns:
        ``down`` (rank, in) and ``up`` (out, rank) of each matrix, float32.

    Raises:
        ModelError: The file is missing or is not an adapter; names what is wrong.
    """
    file = folder / FILE
    matrices: dict[str, dict[str, torch.Tensor | None]] = {}
    for name, tensor in _tensors(file):
        matrix, _, part = name.rpartition(".")
        matrices.setdefault(matrix, {})[part] = tensor
    found: dict[str, tuple[torch.Tensor, torch.Tensor]] = {}
    for matrix, parts in matrices.items():
        if parts.keys() != {*_PARTS} or not _fit(*(parts[part] for part in _PARTS)):
            raise ModelError(
                f"{file}: {short(matrix)} is no pair of int8 factors with finite float32 scales of one rank; "
                "install the package again"
            )
        down, up, down_scale, up_scale = (tensor for part in _PARTS if (tensor := parts[part]) is not None)
        found[matrix] = (down.float() * down_scale[:, None], up.float() * up_scale)
    if not found:
        raise ModelError(f"{file}: holds no factors; install the package again")
    return found


def _tensors(file: Path) -> list[tuple[str, torch.Tensor | None]]:
    """The tensors of a file by name; None for those that an adapter cannot have: other kinds of numbers, or none."""
    from safetensors import SafetensorError, deserialize

    try:
        # Not the library's loader for torch, which fails at kinds of numbers that torch lacks and at huge empty shapes.
        found = deserialize(_content(file))  # type: ignore[no-untyped-call]
    except SafetensorError as error:
        raise ModelError(f"{file}: not a safetensors file: {str(error)[:200]}; install the package again") from error
    return [(name, _tensor(**held)) for name, held in found]


def _tensor(shape: list[int], dtype: str, data: bytearray) -> torch.Tensor | None:
    kind = _KINDS.get(dtype)
    return None if kind is None or not data else torch.frombuffer(data, dtype=kind).reshape(shape)


def _fit(*parts: torch.Tensor | None) -> bool:
    if any(part is None for part in parts):
        return False
    down, up, down_scale, up_scale = (part for part in parts if part is not None)
    if not (down.ndim == up.ndim == 2 and down.dtype == up.dtype == torch.int8):
        return False
    scales = (down_scale, up_scale)
    return down.shape[0] == up.shape[1] and all(
        s.shape == (down.shape[0],) and s.dtype == torch.float32 and bool(s.isfinite().all()) for s in scales
    )


def _content(file: Path) -> bytes:
    content = read_bytes(
        file, error=lambda why: ModelError(f"cannot read the adapter {why}; name a folder with {FILE}")
    )
    check_safetensors(file)
    return content


def add(weights: dict[str, torch.Tensor], folder: Path) -> None:
    """Add an adapter to a model's weights, in place.

    Raises:
        ModelError: The adapter cannot be read, it is another model's (a matrix is missing or has another shape), or
            what it adds may be no finite number. Nothing is added then.
    """
    factors = load(folder)
    for name, (down, up) in factors.items():
        shape, weight = (up.shape[0], down.shape[1]), weights.get(name)
        if weight is None or tuple(weight.shape) != shape or not weight.is_floating_point():
            here = "not there" if weight is None else f"{tuple(weight.shape)} of {weight.dtype}"
            raise ModelError(
                f"the adapter {folder} does not fit this model: it changes {short(name)} of shape {shape}, which is "
                f"{here}; it belongs to {short(card_of(folder).base)}"
            )
        if not _reach(down, up) <= torch.finfo(weight.dtype).max / 2:
            raise ModelError(
                f"the adapter {folder} adds numbers to {short(name)} that are too large for {weight.dtype}; install "
                "the package again"
            )
    for name, (down, up) in factors.items():
        weight = weights[name]
        weights[name] = (weight.float() + up @ down).to(weight.dtype)


def _reach(down: torch.Tensor, up: torch.Tensor) -> float:
    """The most that a pair of factors can add to one number; infinite or NaN where that is no finite float."""
    return float(up.abs().amax(0).double() @ down.abs().amax(1).double())


def write_merged(base: Path, adapter: Path, out: Path) -> None:
    """Write a checkpoint to which an adapter has been added; it is opened as any other.

    Args:
        base: A folder with ``model.safetensors`` and what belongs to it, which is copied.
        adapter: The adapter's folder.
        out: An empty folder.

    Raises:
        ModelError: One of the two cannot be read, or they do not fit.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file, save_file

    file = base / _WEIGHTS
    check_safetensors(file)
    try:
        weights = load_file(file)
    except (SafetensorError, OSError) as error:
        raise ModelError(f"cannot read the weights {file}, to which an adapter is added: {error}") from error
    add(weights, adapter)
    save_file(weights, out / _WEIGHTS, metadata={"format": "pt"})
    for other in base.iterdir():
        if other.is_file() and other.name != _WEIGHTS:
            shutil.copy(other, out / other.name)
