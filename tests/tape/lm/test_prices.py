"""Prices of models: two numbers or a dated file of the user, then the table, and an error where one is missing."""

import asyncio
import json
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from envs.sokoban.environment import SokobanEnvironment
from envs.sokoban.xsb import write
from tape.agents.base import Agent
from tape.agents.open_loop import OpenLoopAgent
from tape.budget import Budget
from tape.cli import main
from tape.errors import ConfigError, UnknownCostError
from tape.lm.base import Request
from tape.lm.cache import CachedLM
from tape.lm.listed_prices import find, spelling, why_unknown
from tape.lm.price import FREE, TokenPrice
from tape.lm.price_table import PriceTable, missing_price
from tape.lm.priced import PricedLM, priced
from tape.lm.scripted import ScriptedLM
from tape.methods.cgdp.agents.react_search import ReactSearchAgent
from tests.tape.helpers import CORRIDOR
from tests.tape.lm.drawn_calls import frozen

SCRIPT = '{"thought": "right", "actions": ["right", "right", "right"]}'


def table(folder: Path, **models: object) -> Path:
    path = folder / "prices.json"
    record = {"schema": 1, "date": "2026-01-31", "source": "here", "per_tokens": 1_000_000}
    path.write_text(json.dumps({**record, "models": models}))
    return path


def listed(name: str, **asked: Any) -> TokenPrice:
    result = find(name)
    price = None if result is None else result.price(**asked)
    assert price is not None
    return price


@pytest.mark.parametrize(
    ("names", "meant"),
    [
        ("openai:gpt-4o-mini openai/gpt-4o-mini gpt-4o-mini openai-chat:gpt-4o-mini", "openai:gpt-4o-mini"),
        ("anthropic:claude-sonnet-4-5 anthropic/claude-sonnet-4-5-20250929", "anthropic:claude-sonnet-4-5"),
        ("gemini:gemini-2.5-pro vertex_ai/gemini-2.5-pro models/gemini-2.5-pro", "google:gemini-2.5-pro"),
        (
            "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0 us.anthropic.claude-sonnet-4-5-20250929-v1:0",
            "aws:regional.anthropic.claude-sonnet-4-5-20250929-v1:0",
        ),
        ("openrouter/openai/gpt-4o", "openrouter:openai/gpt-4o"),
        ("azure/gpt-4o azure_ai/gpt-4o", "azure:gpt-4o"),
        ("groq/llama-3.3-70b-versatile llama-3.3-70b-versatile", "groq:llama-3.3-70b-versatile"),
    ],
)
def test_a_model_has_one_entry_however_it_is_spelled(names: str, meant: str) -> None:
    for name in names.split():
        result = find(name)
        assert result is not None, name
        assert result.name == meant
        assert spelling(name).partition(":")[0] == meant.partition(":")[0]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("gpt-4o-minii", "the nearest names in genai-prices are openai:gpt-4o-mini, "),
        ("cluade-sonnet-4-5", "the nearest names in genai-prices are claude-sonnet-4-5, "),
        (
            "text-embedding-3-small",
            "2 providers have it; write which one, such as azure:text-embedding-3-small, openai:",
        ),
        ("openai:whisper-1", "genai-prices has openai:whisper-1, but no price of its tokens"),
        ("vllm:gpt-4o", "genai-prices has none of that name"),
        ("openai:gpt-4o@http://127.0.0.1:1/v1", "genai-prices has none of that name"),
        ("bedrock/eu-west-1/meta.llama3-8b-instruct-v1:0", "genai-prices"),
        ("vercel_ai_gateway/google/gemini-2.0-flash", "genai-prices"),
    ],
)
def test_a_name_without_a_price_is_explained(name: str, why: str) -> None:
    result = find(name)
    assert result is None or result.price() is None
    assert why_unknown(name).startswith(why) or (why == "genai-prices" and why in why_unknown(name))


def test_prices_of_the_table() -> None:
    mini, haiku = listed("gpt-4o-mini"), listed("claude-haiku-4-5")
    assert (mini.dearest, mini.completion, mini.cached) == (Decimal("0.15e-6"), Decimal("0.6e-6"), Decimal("0.075e-6"))
    assert (haiku.dearest, listed("claude-haiku-4-5", marks="5m").dearest) == (Decimal("1e-6"), Decimal("1.25e-6"))
    assert listed("claude-haiku-4-5", marks="1h").dearest == Decimal("2e-6")
    sol = listed("gpt-5.6-sol")
    assert (sol.prompt, sol.dearest) == (Decimal("4e-6"), Decimal("5e-6")), "it writes to its cache unasked"
    assert [(above, price.completion) for above, price in sol.tiers] == [(272_000, Decimal("30e-6"))]
    assert listed("gpt-5.6-sol", request='{"service_tier":"priority"}').completion == Decimal("40e-6")
    assert listed("sonar").usd(0, 0) == Decimal("0.012"), "a fee for each call"


@pytest.mark.parametrize(
    ("day", "prompt"), [("2026-12-20", "0.75e-6"), ("2026-12-26", "1.5e-6"), ("2027-01-02", "1.5e-6")]
)
def test_a_price_that_begins_within_a_week_counts_where_it_is_dearer(day: str, prompt: str) -> None:
    with frozen(datetime.fromisoformat(f"{day}T12:00+00:00")):
        assert listed("gemini-3.6-flash").prompt == Decimal(prompt), "it doubles in 2027"
    for hour in (0, 2, 12):
        with frozen(datetime(2025, 5, 1, hour, tzinfo=UTC)):
            assert listed("deepseek:deepseek-chat").prompt == Decimal("0.27e-6"), "by day; half of it by night"


def test_identities_of_two_numbers_stay(tmp_path: Path) -> None:
    model = ScriptedLM([""], price=None)
    assert priced(model, "openai:gpt-4o-mini").identity == f"{model.identity} at 1.5E-7+6E-7 usd/token"
    assert priced(model, "x", ("0.15", "0.60")).identity == f"{model.identity} at 1.5E-7+6E-7 usd/token"
    long = priced(model, "openai:gpt-5.6-sol").identity
    assert long.endswith(" at 0.000005+0.00002 usd/token, above 272000 0.00001+0.00003 usd/token")


def test_a_price_is_the_users_own_else_the_models_else_the_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = "http://127.0.0.1:1/v1"
    mine = {"prompt": "1", "completion": 2.5}
    own = PriceTable.load(table(tmp_path, **{"scripted:x": mine, f"openai:gpt-4o@{url}": mine}))
    assert own.dates["scripted:x"] == date(2026, 1, 31)
    expected, shipped = TokenPrice(Decimal("1e-6"), Decimal("2.5e-6")), listed("openai:gpt-4o")
    free, unknown = ScriptedLM([""]), ScriptedLM([""], price=None)
    assert priced(free, "scripted:x", own).price == priced(unknown, "scripted:x", own).price == expected
    assert priced(free, "scripted:other", own).price == FREE
    assert priced(unknown, "scripted:other", own).price is None
    assert priced(unknown, "openai:gpt-4o", own).price == shipped
    assert priced(unknown, "openai:gpt-4o#concurrency=2").price == shipped, "options change no price"
    assert priced(unknown, f"openai:gpt-4o@{url}").price is None, "another endpoint"
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    assert priced(unknown, "openai:gpt-4o").price is None
    assert priced(unknown, "openai:gpt-4o#retries=0", own).price == expected
    monkeypatch.delenv("OPENAI_BASE_URL")
    for name in ("gpt-4o", "openai/gpt-4o", "openai:gpt-4o"):
        own = PriceTable.load(table(tmp_path, **{name: mine | {"cached_input": 0.5, "cache_write": "1.25"}}))
        price = priced(unknown, "openai:gpt-4o", own).price
        assert price == replace(expected, cached=Decimal("0.5e-6"), written=Decimal("1.25e-6"))


def priced_at(prompt: object, per: object = 1_000_000) -> dict[str, object]:
    return {
        "schema": 1,
        "date": "2026-01-31",
        "per_tokens": per,
        "models": {"a:b": {"prompt": prompt, "completion": 1}},
    }


NO_PRICES = ["1e999999", "9" * 400, "nan", "-1", -1, "", True, 1e300, "0x1", None, [], "1_0"]
NO_NUMBERS = [0, -1, 1.5, "1", 10**13, 10**300, True]


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ([], "not a price file"),
        ({"schema": 2}, "schema 2 is not 1"),
        ({**priced_at(1), "date": "soon"}, "soon"),
        ({**priced_at(1), "models": {"a:b": {"prompt": 1}}}, r"models\.a:b\.completion"),
        *((priced_at(amount), r"field models\.a:b\.prompt") for amount in NO_PRICES),
        *((priced_at(1, per), "field per_tokens") for per in NO_NUMBERS),
    ],
    ids=range(4 + len(NO_PRICES) + len(NO_NUMBERS)),
)
def test_malformed_tables_name_the_file_and_the_field(tmp_path: Path, record: object, message: str) -> None:
    (tmp_path / "p.json").write_text(json.dumps(record))
    with pytest.raises(ConfigError, match=rf"p\.json.*{message}"):
        PriceTable.load(tmp_path / "p.json")


def test_the_example_in_the_message_is_a_table(tmp_path: Path) -> None:
    message = missing_price("openai:new")
    (tmp_path / "p.json").write_text(message[message.index("{") : message.rindex("}") + 1])
    assert list(PriceTable.load(tmp_path / "p.json").prices) == ["openai:new"]


def test_a_missing_price_under_a_hard_cap_is_an_error_at_the_start() -> None:
    agent = OpenLoopAgent(ScriptedLM([SCRIPT], price=None))
    with pytest.raises(UnknownCostError, match=r"usd is capped, but the price of scripted is unknown.*--prices FILE"):
        agent.run(SokobanEnvironment(CORRIDOR, 4), budget=Budget.of(usd="0.05"))
    result = agent.run(SokobanEnvironment(CORRIDOR, 4))
    assert result.success
    assert result.used["usd"] is None, "unknown is not nothing"
    assert result.paid["usd"] is None


@pytest.mark.parametrize("agent", [OpenLoopAgent, ReactSearchAgent])
def test_an_agent_is_given_what_its_model_costs(agent: type[Agent], tmp_path: Path) -> None:
    price = TokenPrice(Decimal("1e-4"), Decimal("1e-3"))
    file = table(tmp_path, scripted={"prompt": 100, "completion": 1000})
    for prices in (("100", "1000"), [100, Decimal(1000)], file, str(file)):
        assert agent(ScriptedLM([SCRIPT], price=None), prices=prices).model.price == price
    (tmp_path / "script.json").write_text(json.dumps([SCRIPT]))
    assert agent(f"scripted:{tmp_path / 'script.json'}", prices=("100", "1000")).model.price == price
    for wrong in ("15", (1,), (1, -1), {1, 2}, ("a", "b")):
        with pytest.raises(ConfigError, match=r"prices are US dollars per million tokens|15.* cannot be read"):
            agent(ScriptedLM([SCRIPT]), prices=wrong)


def test_a_price_that_is_given_is_what_a_cap_counts() -> None:
    model = ScriptedLM([SCRIPT], price=None)
    with pytest.raises(UnknownCostError, match=r'in Python give the agent prices=FILE or prices=\("0.15", "0.60"\)'):
        OpenLoopAgent(model).run(SokobanEnvironment(CORRIDOR, 4), budget=Budget.of(usd="0.05"))
    refused = OpenLoopAgent(model, prices=(1000, 0)).run(SokobanEnvironment(CORRIDOR, 4), budget="$0.0001")
    assert (refused.end_state, refused.lm_calls) == ("budget:usd", {})
    paid = OpenLoopAgent(model, prices=(1000, 0)).run(SokobanEnvironment(CORRIDOR, 4), budget="$1")
    assert paid.used["usd"] == 1000 * sum(paid.prompt_tokens.values()) > 0


def test_a_cache_outlives_a_change_of_price(tmp_path: Path) -> None:
    request = Request("what", 9)
    for micro in (1, 2):
        cached = CachedLM(ScriptedLM([SCRIPT], price=None), tmp_path / "cache")
        model = PricedLM(cached, TokenPrice(Decimal(micro), Decimal(micro)))
        [completion] = asyncio.run(model.generate([request]))
        assert completion.usage.cached == (micro == 2)
        assert model.identity.endswith(f"at {micro}+{micro} usd/token"), "what is affordable depends on it"
        model.close()


def test_the_command_line_takes_prices(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "levels.xsb", [CORRIDOR])
    (tmp_path / "script.json").write_text(json.dumps([SCRIPT]))
    name, out = f"scripted:{tmp_path / 'script.json'}", tmp_path / "run"
    command = ["run", "sokoban", "--levels", str(tmp_path / "levels.xsb"), "--agent", "open_loop", "--model", name]
    prices = table(tmp_path, **{name: {"prompt": 100, "completion": 1000}})
    command += ["--out", str(out), "--prices", str(prices)]
    assert main([*command, "--run-budget", "usd=0.0001"]) == 3
    output = capsys.readouterr()
    assert "the run's budget is exhausted: a model call (plan): $0.1928 do not fit into what run has left" in output.err
    assert "larger --run-budget" in output.err
    assert main([*command, "--run-budget", "usd=9"]) == 0
    assert "left for the run: $8.9" in capsys.readouterr().out
    [line] = (out / "episodes.jsonl").read_text().splitlines()
    assert json.loads(line)["result"]["used"]["usd"] > 1000
    assert main([*command[:-1], str(tmp_path / "absent.json")]) == 2
    assert "absent.json" in capsys.readouterr().err
