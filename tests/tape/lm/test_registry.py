"""Errors about names of models that name none."""

from pathlib import Path

import pytest

from tape.errors import ModelError, UnknownNameError
from tape.lm.registry import open_model


def test_what_was_meant_is_suggested(tmp_path: Path) -> None:
    meant = {"mini": "bundled:mini", "smollm": "smollm2", "some/model.Q4_1.gguf": "gguf:some/model.Q4_1.gguf"}
    for name, suggested in {**meant, str(tmp_path): f"hf:{tmp_path}"}.items():
        with pytest.raises(UnknownNameError, match=f"Did you mean '{suggested}'"):
            open_model(name)
    with pytest.raises(UnknownNameError, match="there is no model 'quite-another'") as caught:
        open_model("quite-another")
    assert "Did you mean" not in str(caught.value), "nothing near is no guess"


def test_a_checkpoint_that_is_none_says_why(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="there is no such folder"):
        open_model(f"hf:{tmp_path / 'nowhere'}")
    with pytest.raises(ModelError, match=r"name it gguf:model\.gguf"):
        open_model("hf:model.gguf")
