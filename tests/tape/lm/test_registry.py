"""What is said of a model's name that names none."""

from pathlib import Path

import pytest

from tape.errors import ModelError, UnknownNameError
from tape.lm.registry import open_model


@pytest.mark.parametrize(
    ("name", "meant"),
    [("mini", "bundled:mini"), ("smollm", "smollm2"), ("some/model.Q4_1.gguf", "gguf:some/model.Q4_1.gguf")],
)
def test_what_was_meant_is_said(name: str, meant: str) -> None:
    with pytest.raises(UnknownNameError, match=f"Did you mean '{meant}'"):
        open_model(name)


def test_a_folder_is_meant_as_a_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=f"Did you mean 'hf:{tmp_path}'"):
        open_model(str(tmp_path))


def test_nothing_near_is_no_guess() -> None:
    with pytest.raises(UnknownNameError, match="there is no model 'quite-another'") as caught:
        open_model("quite-another")
    assert "Did you mean" not in str(caught.value)


def test_a_checkpoint_that_is_none_says_why(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="there is no such folder"):
        open_model(f"hf:{tmp_path / 'nowhere'}")
    with pytest.raises(ModelError, match=r"name it gguf:model\.gguf"):
        open_model("hf:model.gguf")
