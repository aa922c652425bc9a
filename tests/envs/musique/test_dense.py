"""Dense retrieval with a tiny model made on the spot."""

import contextlib
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from envs.musique.corpus import load_corpus
from envs.musique.dense import DenseCorpus
from envs.musique.errors import MusiqueError


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    path = tmp_path_factory.mktemp("model")
    words = sorted({word for p in load_corpus() for word in f"{p.title} {p.text}".replace(".", " ").split()})
    vocabulary = {word: i for i, word in enumerate(["[PAD]", "[UNK]", ".", *words])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]").save_pretrained(path)
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    BertModel(BertConfig(vocab_size=len(vocabulary), pad_token_id=0, **sizes)).save_pretrained(path)
    return path


@pytest.mark.slow
def test_passages_are_nearest_to_their_own_text(folder: Path) -> None:
    passages = load_corpus()[:70]
    corpus = DenseCorpus(passages, f"hf:{folder}")
    for number, passage in enumerate(passages):
        scores = corpus.scores(f"{passage.title}. {passage.text}")
        assert scores.shape == (len(passages),)
        assert np.all(np.abs(scores) <= 1 + 1e-6)
        # The batch that a text is padded in must not change its embedding.
        assert scores[number] == pytest.approx(1.0, abs=1e-4)
        assert scores.argmax() == number
    found = corpus.retrieve("founder of Ulimar Partners", "v4", 1)
    assert len(found) == 3
    assert found == corpus.retrieve("founder of Ulimar Partners", "v4", 1)


def test_models_that_are_not_there(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    names = ["PATH", "hf:", "hf:/nowhere", "bundled:base", f"hf:{tmp_path}"]
    for name, message in zip(names, ["give hf:PATH"] * 4 + ["cannot be loaded"], strict=True):
        with pytest.raises(MusiqueError, match=message):
            DenseCorpus(load_corpus()[:3], name)


@pytest.mark.slow
@pytest.mark.parametrize(
    "config",
    [
        {"auto_map": {"AutoConfig": "evil.Config", "AutoModel": "evil.Model", "AutoTokenizer": "evil.Tokens"}},
        {"auto_map": {"AutoConfig": "evil.Config"}, "model_type": "evil"},
        {"hidden_size": "x"},
        {"hidden_size": -1},
        [],
    ],
)
def test_the_code_of_a_downloaded_folder_is_not_run(config: object, folder: Path, tmp_path: Path) -> None:
    mine = shutil.copytree(folder, tmp_path / "model")
    mark = tmp_path / "mark"
    (mine / "evil.py").write_text(f"open({str(mark)!r}, 'w')\n", encoding="utf-8")
    known = json.loads((mine / "config.json").read_text(encoding="utf-8"))
    changed = {**known, **config} if isinstance(config, dict) else config
    (mine / "config.json").write_text(json.dumps(changed), encoding="utf-8")
    with contextlib.suppress(MusiqueError):  # some of them can be loaded without their code
        DenseCorpus(load_corpus()[:2], f"hf:{mine}")
    assert not mark.exists()
