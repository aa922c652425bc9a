"""Configurations that are wrong: file, line, field and remedy, before anything is started."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic import ValidationError

from tape.errors import ConfigError
from tape.gateway.config import load_config
from tape.gateway.settings import GatewayLimits
from tape.reading import MOST_DEPTH

GOOD = """# A gateway.
[budgets]
session = { usd = "$0.05", steps = 20 }
run = { usd = "$1" }

[resources.gateway_test_pages]
unit = "page"

[servers.weather]
command = ["python", "server.py"]
price = { usd = "1 cent" }

[servers.weather.tools.temperature]
kind = "look"
quality = 0.9
price = [
    { usd = "$0.001" },
    { each = { gateway_test_pages = 1 }, per = "argument", argument = "n", at_most = 9 },
]

[python.rate]
function = "my_tools:rate"
"""


def written(folder: Path, text: str) -> Path:
    file = folder / "c.toml"
    file.write_text(text)
    return file


def test_a_good_file_is_read(tmp_path: Path) -> None:
    config = load_config(written(tmp_path, GOOD))
    assert config.session["usd"] == 50_000
    assert config.session["steps"] == 20
    assert config.client["local"] == {}
    price = config.tools["weather"]["temperature"].price
    assert price is not None
    assert dict(price.worst()) == {"gateway_test_pages": 9, "usd": 1000}
    assert dict(price.worst({"n": 4})) == {"gateway_test_pages": 4, "usd": 1000}


LIMITS = [
    ("call_seconds", "inf", "inf is no number"),
    ("approve_seconds", "nan", "nan is no number"),
    ("call_seconds", "1e300", "less than or equal to 1000000"),
    ("call_seconds", "1e-300", "greater than or equal to 0.001"),
    ("approve_seconds", "0", "greater than or equal to 0.001"),
    ("most_result_bytes", "9" * 300, "less than or equal to"),
]
COMMAND, TOOL = 'command = ["python", "server.py"]', "servers.weather.tools.temperature"
BOUNDED = [
    *(("# A gateway.", f"gateway.{name} = {value}", 1, f"gateway.{name}", why) for name, value, why in LIMITS),
    *((COMMAND, f"{COMMAND}\n{name} = {value}", 11, f"servers.weather.{name}", "")
      for name in ("start_seconds", "call_seconds") for value in ("inf", "nan", "-1", "0", "1e9")),
    *(("at_most = 9", f"at_most = {value}", 16, f"{TOOL}.price.1.at_most", "") for value in ("9" * 300, "inf")),
]  # fmt: skip
"""Times, sizes and units of a price that are not finite, or beyond what can be."""


@pytest.mark.parametrize(
    ("old", "new", "line", "field", "why"),
    [
        ("quality = 0.9", "quality = 1.9", 15, f"{TOOL}.quality", "less than or equal to 1"),
        ("quality = 0.9", "qualty = 0.9", 15, f"{TOOL}.qualty", "do you mean quality?"),
        ('"$0.05"', '"0.05 seconds"', 3, "budgets.session.usd", "write 0.05, '$0.05'"),
        ("steps = 20", "wall_seconds = 20", 3, "budgets.session.wall_seconds", "gateway.call_seconds"),
        ("steps = 20", "bananas = 20", 3, "budgets.session.bananas", "[resources.bananas]"),
        ('usd = "1 cent"', "plums = 1", 11, "servers.weather.price.plums", "[resources.plums]"),
        ('{ usd = "$0.001" }', '{ usd = "cheap" }', 16, f"{TOOL}.price.0.usd", "write 0.05"),
        ("at_most = 9", "at_most = -9", 16, f"{TOOL}.price.1.at_most", ">= 0"),
        ('per = "argument"', 'per = "word"', 16, f"{TOOL}.price.1.per", "'output_tokens'"),
        ('argument = "n", at', "at", 16, f"{TOOL}.price.1", 'argument = "NAME"'),
        ('command = ["python", "server.py"]', "", 9, "servers.weather", "either command"),
        ('"server.py"]', '"server.py"]\nurl = "http://127.0.0.1:1"', 9, "servers.weather", "either command"),
        ('["python", "server.py"]', '"python server.py"', 10, "servers.weather.command", "valid list"),
        ('command = ["python", "server.py"]', 'url = "http://me:secret@x"', 10, "servers.weather.url", "headers_from"),
        ('command = ["python", "server.py"]', 'url = "server.py"', 10, "servers.weather.url", "http://"),
        ('price = { usd = "1 cent" }', 'env_from = ["NO_SUCH_9"]', 11, "servers.weather.env_from.0", "is not set"),
        ('kind = "look"', "pure = true\ndestructive = true", 14, f"{TOOL}.pure", "one of them"),
        ('function = "my_tools:rate"', 'function = "rate.py"', 22, "python.rate.function", '"my_tools:rate"'),
        ('function = "my_tools:rate"', "", 21, "python.rate.function", "is missing"),
        ('unit = "page"', "unit = 3", 7, "resources.gateway_test_pages.unit", "valid string"),
        ("[python.rate]", "[python.'my rate']", 21, "python.my rate", "letters"),
        ("[budgets]", "[budget]", 2, "budget", "do you mean budgets?"),
        *BOUNDED,
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, old: str, new: str, line: int, field: str, why: str) -> None:
    assert GOOD.count(old) == 1
    file = written(tmp_path, GOOD.replace(old, new))
    with pytest.raises(ConfigError) as caught:
        load_config(file)
    message = str(caught.value)
    assert message.startswith(f"{file}:{line}: field {field}: "), message
    assert why in message
    assert "secret" not in message


def test_a_file_that_is_no_toml_empty_or_not_there(tmp_path: Path) -> None:
    file = written(tmp_path, GOOD.replace('["python", "server.py"]', '["python" "server.py"]'))
    with pytest.raises(ConfigError, match=f"{file}:10: no TOML"):
        load_config(file)
    with pytest.raises(ConfigError, match=r"nothing to offer.*\[servers.NAME\]"):
        load_config(written(tmp_path, "[budgets]\n"))
    with pytest.raises(ConfigError, match="cannot be read"):
        load_config(tmp_path / "missing.toml")


@pytest.mark.parametrize(
    ("price", "field", "why"),
    [
        ('{ each = { usd = "0.1" }, per = "output_tokens" }', "price", "at_most"),
        ('{ each = { usd = "0.1" }, per = "input_tokens", bytes_per_token = 0 }', "price.bytes_per_token", ">= 1"),
        ('{ worst = { usd = "0.1" }, repoted = "x" }', "price.repoted", "is none of worst, reported"),
        ('{ worst = { usd = "0.1" }, reported = 3 }', "price.reported", "usage.cost"),
        ('{ argument = "x", values = {} }', "price.values", "large"),
        ("{ steps = 2 }", "price.steps", "every call is one"),
        ("{ wall_seconds = 2 }", "price.wall_seconds", "call_seconds"),
        ("3", "price", "amounts by resource"),
        ("[]", "price", "1 to 20"),
    ],
)
def test_malformed_prices_are_named(tmp_path: Path, price: str, field: str, why: str) -> None:
    file = written(tmp_path, f'[servers.s]\ncommand = ["x"]\nprice = {price}\n')
    with pytest.raises(ConfigError, match=re.escape(f"{file}:3: field servers.s.{field}: ") + f".*{re.escape(why)}"):
        load_config(file)


def test_limits_made_in_python_are_finite_too() -> None:
    with pytest.raises(ValidationError):
        GatewayLimits(call_seconds=float("inf"))


@pytest.mark.parametrize(
    ("value", "message"),
    [("9" * 5000, "a whole number of 5000 digits"), ("[" * 3000 + "]" * 3000, f"nested deeper than {MOST_DEPTH}")],
)
def test_what_no_parser_survives_is_refused(tmp_path: Path, value: str, message: str) -> None:
    with pytest.raises(ConfigError, match=f"c.toml:3: {message}"):
        load_config(written(tmp_path, f"\n[gateway]\ncall_seconds = {value}\n"))


@pytest.mark.timeout(20)
def test_a_wrong_field_at_the_end_of_a_large_file_has_its_line(tmp_path: Path) -> None:
    servers = "".join(f'[servers.s{i}]\ncommand = ["x"]\n' for i in range(3_000))
    file = written(tmp_path, f"{servers}[servers.last]\ncommand = 'x'\n")
    with pytest.raises(ConfigError, match=r"c.toml:6002: field servers.last.command: .*valid list"):
        load_config(file)
