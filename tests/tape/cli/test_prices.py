"""``tape prices``: what is known of a model, from where, and what a call costs."""

import json
from pathlib import Path

import pytest

from tape.lm.listed_prices import edition
from tests.tape.commandline import Tape


def test_a_model_is_shown_with_its_rates_and_calls(tape: Tape) -> None:
    shown = tape("prices", "claude-sonnet-4-5", "--prompt", "10000", "--completion", "500")
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.splitlines() == [
        f"anthropic:claude-sonnet-4-5, from {edition()}",
        "",
        "US dollars per million tokens      up to 200,000  above 200,000",
        "prompt                                         3              6",
        "  read from the cache                        0.3            0.6",
        "  marked for the cache, 5 minutes           3.75            7.5",
        "  marked for the cache, 1 hour                 6             12",
        "completion                                    15           22.5",
        "",
        "10,000 tokens of prompt, 500 of completion  at most",
        "a call                                      $0.0375",
        "marked for the cache, 5 minutes              $0.045",
        "marked for the cache, 1 hour                $0.0675",
    ]
    fee = tape("prices", "perplexity/sonar").out
    assert "a call, beside its tokens" in fee
    assert "$0.012" in fee
    tiers = tape("prices", "openai/gpt-4o-mini").out
    assert "service_tier=priority" in tiers
    assert "flex" not in tiers, "which costs less"


def test_a_price_file_goes_first(tape: Tape, tmp_path: Path) -> None:
    file = tmp_path / "prices.json"
    models = {"gpt-4o": {"prompt": 1, "completion": 2, "cache_write": 3}, "mine": {"prompt": 1, "completion": 2}}
    file.write_text(json.dumps({"schema": 1, "date": "2026-01-31", "per_tokens": 10**6, "models": models}))
    shown = tape("prices", "openai:gpt-4o", "--prices", str(file)).out
    assert f"gpt-4o, from {file} of 2026-01-31; it goes before genai-prices" in shown
    assert "$0.005" in shown, "1,000 tokens written to the cache and 1,000 of completion"
    assert tape("prices", "mine", "--prices", str(file)).code == 0
    assert "from genai-prices" in tape("prices", "gpt-4o-mini", "--prices", str(file)).out


def test_models_are_listed_by_a_part_of_their_names(tape: Tape) -> None:
    providers = tape("prices")
    assert providers.code == 0
    assert "openai " in providers.out
    name = tape("prices", "--find", "gpt-4o-mini").out
    assert "openai:gpt-4o-mini " in name
    assert "claude" not in name
    assert "whisper-1       ?           ?" in tape("prices", "--find", "openai:whisper").out
    nothing = tape("prices", "--find", "no-such-model")
    assert (nothing.code, nothing.out) == (1, "")
    assert "has 'no-such-model' in it" in nothing.err


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (
            ["gpt-4o-minii"],
            "the price of gpt-4o-minii is unknown: the nearest names in genai-prices are openai:gpt-4o-mini,",
        ),
        (["whisper-1"], "genai-prices has openai:whisper-1, but no price of its tokens"),
        (["gpt-4o", "--prompt", "-1"], "'-1' is not a whole number"),
        (["gpt-4o", "--prices", "absent.json"], "absent.json"),
    ],
)
def test_wrong_input_is_answered_in_a_sentence(tape: Tape, argv: list[str], message: str) -> None:
    shown = tape("prices", *argv)
    assert (shown.code, shown.out) == (2, "")
    assert message in shown.err
