"""Prices of hosted models: dated files, the user's own before the shipped ones, and an error where one is missing."""

import asyncio
import json
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from envs.sokoban.environment import SokobanEnvironment
from envs.sokoban.xsb import write
from tape.agents.base import Agent
from tape.agents.open_loop import OpenLoopAgent
from tape.budget import Budget
from tape.cgdp.agents.react_search import ReactSearchAgent
from tape.cli import main
from tape.errors import ConfigError, UnknownCostError
from tape.lm.base import FREE, Price, Request
from tape.lm.cache import CachedLM
from tape.lm.price_table import PricedLM, PriceTable, missing_price, priced
from tape.lm.scripted import ScriptedLM
from tests.tape.helpers import CORRIDOR

SCRIPT = '{"thought": "right", "actions": ["right", "right", "right"]}'


def table(folder: Path, **models: object) -> Path:
    path = folder / "prices.json"
    record = {"schema": 1, "date": "2026-01-31", "source": "here", "per_tokens": 1_000_000}
    path.write_text(json.dumps({**record, "models": models}))
    return path


def test_the_shipped_tables_are_dated_and_name_their_models_in_full() -> None:
    shipped = PriceTable.shipped()
    assert shipped.prices.keys() == shipped.dates.keys()
    for name, price in shipped.prices.items():
        assert name.partition(":")[2]
        assert Decimal(0) < price.prompt <= price.completion < Decimal("0.001"), f"{name} per token"
        assert date(2025, 1, 1) < shipped.dates[name]
    assert shipped.prices["openai:gpt-4o-mini"] == Price(Decimal("0.15e-6"), Decimal("0.60e-6"))


def test_a_price_is_the_users_own_else_the_models_else_the_shipped_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = "http://127.0.0.1:1/v1"
    mine = {"prompt": "1", "completion": 2.5}
    own = PriceTable.load(table(tmp_path, **{"scripted:x": mine, f"openai:gpt-4o@{url}": mine}))
    assert own.dates["scripted:x"] == date(2026, 1, 31)
    expected, shipped = Price(Decimal("1e-6"), Decimal("2.5e-6")), PriceTable.shipped().prices["openai:gpt-4o"]
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
    price = Price(Decimal("1e-4"), Decimal("1e-3"))
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
        model = PricedLM(cached, Price(Decimal(micro), Decimal(micro)))
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
    assert "the run's budget is exhausted: a model call (plan): usd of the run ledger: $0.1928 requested" in output.err
    assert "larger --run-budget" in output.err
    assert main([*command, "--run-budget", "usd=9"]) == 0
    assert "left for the run: $8.9" in capsys.readouterr().out
    [line] = (out / "episodes.jsonl").read_text().splitlines()
    assert json.loads(line)["result"]["used"]["usd"] > 1000
    assert main([*command[:-1], str(tmp_path / "absent.json")]) == 2
    assert "absent.json" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--run-budget", "wall_seconds=5"], "cap it with --budget"),
        (["--run-budget", "calls=5", "--workers", "ray:local"], "cannot be shared with a Ray cluster"),
        (["--on-limit", "final_answer"], "SokobanEnvironment takes no final answer"),
    ],
)
def test_what_cannot_be_kept_is_refused_at_the_start(
    tmp_path: Path, more: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "script.json").write_text(json.dumps([SCRIPT]))
    model = f"scripted:{tmp_path / 'script.json'}"
    assert main(["run", "sokoban", "--model", model, "--out", str(tmp_path / "run"), *more]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
