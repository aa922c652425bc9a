"""Adapters: what is added is exactly what the file holds, and nothing is added from a file that is not right."""

import json
import os
import shutil
from contextlib import suppress
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from tape.errors import MissingExtraError, ModelError, UnknownNameError
from tape.lm import smollm2
from tape.lm.adapter import CARD, FILE, adapter_digest, add, card_of, load, write_merged
from tape.lm.registry import open_model
from tests.tape.conftest import Keep
from tests.tape.lm.spoilt_adapters import COLUMNS, NAME, ROWS, spoilt


def made(folder: Path, *, rank: int = 2, rows: int = 4, columns: int = 3, seed: int = 0) -> Path:
    """An adapter of one matrix."""
    folder.mkdir(exist_ok=True)
    torch.manual_seed(seed)
    shapes = {"down": (rank, columns), "up": (rows, rank)}
    tensors = {f"{NAME}.{part}": torch.randint(-127, 128, shape, dtype=torch.int8) for part, shape in shapes.items()}
    save_file(tensors | {f"{NAME}.{part}_scale": torch.rand(rank) / 64 for part in shapes}, folder / FILE)
    card = {"name": "tiny:one", "base": "a tiny model", "about": "nothing", "rank": rank}
    (folder / CARD).write_text(json.dumps(card))
    return folder


def test_what_is_added_is_the_product_of_the_stored_factors(tmp_path: Path) -> None:
    folder = made(tmp_path / "adapter")
    stored = load_file(folder / FILE)
    down = stored[f"{NAME}.down"].double() * stored[f"{NAME}.down_scale"].double()[:, None]
    up = stored[f"{NAME}.up"].double() * stored[f"{NAME}.up_scale"].double()
    base, other = torch.randn(4, 3), torch.randn(5)
    weights = {NAME: base.clone(), "model.norm.weight": other.clone()}
    add(weights, folder)
    torch.testing.assert_close(weights[NAME].double(), base.double() + up @ down, rtol=1e-6, atol=1e-6)
    assert torch.equal(weights["model.norm.weight"], other)
    assert not torch.equal(weights[NAME], base)


def test_a_merged_checkpoint_has_the_sum_and_all_other_files(tmp_path: Path) -> None:
    folder = made(tmp_path / "adapter")
    base, out = tmp_path / "base", tmp_path / "out"
    base.mkdir()
    out.mkdir()
    weight = torch.randn(4, 3)
    save_file({NAME: weight, "other": torch.ones(2)}, base / "model.safetensors")
    (base / "config.json").write_text("{}")
    write_merged(base, folder, out)
    expected = {NAME: weight.clone()}
    add(expected, folder)
    merged = load_file(out / "model.safetensors")
    assert torch.equal(merged[NAME], expected[NAME])
    assert torch.equal(merged["other"], torch.ones(2))
    assert (out / "config.json").read_text() == "{}"
    assert torch.equal(load_file(base / "model.safetensors")[NAME], weight)


def test_the_digest_is_of_the_factors(tmp_path: Path) -> None:
    one, same, another = (made(tmp_path / name, seed=seed) for name, seed in (("a", 0), ("b", 0), ("c", 1)))
    assert adapter_digest(one) == adapter_digest(same) != adapter_digest(another)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("down", None), ("up_scale", None), ("down", torch.zeros(2, 3)), ("up", torch.zeros(4, 3, dtype=torch.int8)),
        ("up", torch.zeros(8, dtype=torch.int8)), ("down_scale", torch.ones(3)),
        ("down_scale", torch.tensor([1.0, float("nan")])), ("up_scale", torch.ones(2, dtype=torch.float64)),
    ],
)  # fmt: skip
def test_factors_that_do_not_belong_together_are_refused(tmp_path: Path, part: str, value: torch.Tensor | None) -> None:
    folder = made(tmp_path / "adapter")
    tensors = load_file(folder / FILE)
    tensors.pop(f"{NAME}.{part}")
    if value is not None:
        tensors[f"{NAME}.{part}"] = value
    save_file(tensors, folder / FILE)
    with pytest.raises(ModelError, match=f"{FILE}.*up_proj"):
        load(folder)


def test_files_that_are_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=f"cannot read .*{FILE}"):
        load(tmp_path)
    (tmp_path / FILE).write_bytes(b"no tensors")
    with pytest.raises(ModelError, match="byte 0: the length of the header"):
        load(tmp_path)
    save_file({}, tmp_path / FILE)
    with pytest.raises(ModelError, match="no factors"):
        load(tmp_path)
    (tmp_path / CARD).write_text('{"name": "x"}')
    with pytest.raises(ModelError, match=CARD):
        card_of(tmp_path)


def refused(folder: Path, words: str, *shape: int, dtype: torch.dtype = torch.float32) -> None:
    """Adding the adapter fails with these words, and adds nothing."""
    weights = {NAME: torch.ones(shape or (4, 3), dtype=dtype)}
    with pytest.raises(ModelError, match=words):
        add(weights, folder)
    assert (weights[NAME] == 1).all()


def test_an_adapter_of_another_model_is_refused_and_nothing_is_added(tmp_path: Path) -> None:
    folder = made(tmp_path / "adapter")
    refused(folder, r"which is \(3, 4\)", 3, 4)
    stored = load_file(folder / FILE)
    save_file(
        stored | {key.replace(NAME, "another.weight"): value.clone() for key, value in stored.items()}, folder / FILE
    )
    refused(folder, r"'another\.weight' of shape \(4, 3\), which is not there; it belongs to 'a tiny model'")


@pytest.mark.parametrize(("scale", "dtype"), [(3e38, torch.float32), (1e4, torch.float16)])
def test_scales_whose_product_is_infinite_are_refused(tmp_path: Path, scale: float, dtype: torch.dtype) -> None:
    folder = made(tmp_path / "adapter")
    save_file(load_file(folder / FILE) | {f"{NAME}.up_scale": torch.full((2,), scale)}, folder / FILE)
    refused(folder, f"too large for {dtype}", dtype=dtype)


def test_neither_a_pipe_nor_a_huge_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = made(tmp_path / "adapter")
    monkeypatch.setattr("tape.reading.MOST_BYTES", 100)
    refused(folder, "larger than 100 bytes")
    (folder / FILE).unlink()
    os.mkfifo(folder / FILE)
    refused(folder, "a pipe or device")


def sweep(folder: Path, first: int, count: int) -> dict[str, int]:
    """What becomes of spoilt adapters: each is added in finite numbers, or refused in one sentence."""
    found = {"adapters": count, "added": 0, "refused": 0, "longest message": 0}
    base = {NAME: torch.ones(ROWS, COLUMNS), "lm_head.weight": torch.ones(ROWS, COLUMNS)}
    for seed in range(first, first + count):
        file, card = spoilt(seed)
        (folder / FILE).write_bytes(file)
        (folder / CARD).write_bytes(card)
        weights = {name: weight.clone() for name, weight in base.items()}
        try:
            add(weights, folder)
        except ModelError as error:
            found["refused"] += 1
            found["longest message"] = max(
                found["longest message"], len(str(error)) - str(error).count(str(folder)) * len(str(folder))
            )
            assert all(torch.equal(weights[name], base[name]) for name in base), seed
        else:
            found["added"] += 1
            assert all(weight.isfinite().all() for weight in weights.values()), seed
        with suppress(ModelError):
            card_of(folder)
    assert found["longest message"] < 1000
    return found


@pytest.mark.parametrize(("first", "count"), [(0, 500), pytest.param(1000, 5_000, marks=pytest.mark.soak)])
def test_a_spoilt_adapter_is_refused(tmp_path: Path, keep_figures: Keep, first: int, count: int) -> None:
    found = sweep(tmp_path, first, count)
    assert found["refused"] > count * 9 // 10
    assert found["added"]
    keep_figures("adapters", dict(found))


def test_shipped_adapters_are_small_and_readable() -> None:
    for name in smollm2.adapters():
        folder = smollm2.adapters_folder() / name
        card, factors = card_of(folder), load(folder)
        assert card.name == f"smollm2:{name}"
        facts = json.loads((folder / CARD).read_text(encoding="utf-8"))
        assert facts["bytes"] == (folder / FILE).stat().st_size
        assert facts["parameters"] == sum(down.numel() + up.numel() for down, up in factors.values())
        assert all(down.shape[0] == up.shape[1] == card.rank for down, up in factors.values())
        assert sum(file.stat().st_size for file in folder.iterdir()) < 8_000_000


def test_an_unknown_adapter_and_a_missing_extra_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="smollm2:cook"):
        open_model("smollm2:cook")
    shutil.copytree(made(tmp_path / "made"), tmp_path / "adapters" / "reader")
    monkeypatch.setattr(smollm2, "adapters_folder", lambda: tmp_path / "adapters")
    monkeypatch.setattr(smollm2, "PACKAGE", "no_such_package")
    with pytest.raises(MissingExtraError, match="smollm2"):
        open_model("smollm2:reader")
