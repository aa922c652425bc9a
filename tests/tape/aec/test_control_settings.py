"""Settings of active epistemic control: what is refused, and the table of docs/aec.md."""

import re
from typing import Any

import pytest

from tape.aec.settings import AecSettings
from tape.engine.settings import TapeConfig
from tape.errors import ConfigError
from tape.protocols import PromptFormat
from tests.places import ROOT
from tests.tape.aec.toy import OPEN, BoxDomain, BoxFormat, BoxModel, BoxWorld, play


def test_where_something_is_to_be_predicted_the_format_must_be_able_to_ask() -> None:
    class Plain(BoxFormat):
        predict_request, read_predict = PromptFormat.predict_request, PromptFormat.read_predict

    class Unasked(BoxWorld):
        def prompt_format(self, name: str) -> BoxFormat:
            return Plain(self.domain)

    with pytest.raises(ConfigError, match=r"there are unknown predicates to predict, but Plain has no predict_request"):
        play(Unasked(0, OPEN), BoxModel(0, OPEN))
    result, _ = play(Unasked(0, OPEN), BoxModel(0, OPEN), aec={"gate": "query_all"})
    assert result.success


def test_a_domain_without_predicates_is_refused_by_name() -> None:
    class Silent(BoxDomain):
        predicates = None

    silent: Any = Silent(3)
    with pytest.raises(ConfigError, match=r"\(aec\) needs an environment that declares predicates, and Silent"):
        play(BoxWorld(0, OPEN, silent), BoxModel(0, OPEN))
    result, _ = play(BoxWorld(0, OPEN, silent), BoxModel(0, OPEN), aec=False)
    assert result.success


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"selector": "lm"}, "selector='solver'"),
        ({"execution": "free"}, "execution='constrained' or 'forced'"),
        ({"aec": {"margin": 0.6}}, "setting aec.margin = 0.6"),
        ({"aec": {"hypotheses": 0}}, "setting aec.hypotheses = 0"),
        ({"aec": {"gate": "guess"}}, "setting aec.gate = 'guess'"),
        ({"aec": {"gates": "joint"}}, "there is no setting 'aec.gates'; did you mean 'gate'?"),
        ({"gate": "joint"}, "gate is a setting of aec: give aec={'gate': ...}"),
    ],
)
def test_settings_that_make_no_sense(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        TapeConfig.make(**{"aec": True, **settings})


PAGE = (ROOT / "docs" / "aec.md").read_text(encoding="utf-8")


def test_the_settings_have_the_defaults_that_the_table_says() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (\S+) \|", PAGE, re.MULTILINE))
    assert set(rows) == set(AecSettings.model_fields)
    for name, documented in rows.items():
        default = getattr(AecSettings(), name)
        assert documented.strip("`") == str({"": "none", True: "on", False: "off"}.get(default, default)).lower()
