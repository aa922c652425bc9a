"""A key is read from the environment and appears nowhere else: no trace, log, error, warning or repr."""

import logging
import traceback
from typing import Any

import pytest

from tape.budget import Budget, Ledger
from tape.cli.main import main
from tape.errors import ConfigError, ModelError
from tape.lm.accounting import AccountedLM
from tape.lm.base import BatchError, OneOf
from tape.lm.registry import open_model
from tests.tape.lm.endpoint import CANARY, FAULTS, Endpoint
from tests.tape.lm.hosting import ask, opened, wrapped

pytest.importorskip("openai")


def everything(error: BaseException | None, seen: set[int] | None = None) -> str:
    """All texts of an exception, with causes, contexts, notes, attributes and what hangs on those."""
    seen = seen if seen is not None else set()
    if error is None or id(error) in seen:
        return ""
    seen.add(id(error))
    inner = [error.__cause__, error.__context__, *getattr(error, "answers", ())]
    own = "".join(traceback.format_exception(error)) + repr(error) + str(error) + repr(vars(error))
    return own + "".join(everything(e, seen) for e in inner if isinstance(e, BaseException))


@pytest.mark.parametrize("fault", ["", *sorted(FAULTS)])
def test_every_fault_ends_in_an_answer_or_a_counted_failure_and_reveals_no_key(
    fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    shown: list[Any] = []
    ledger = Ledger(Budget({"calls": 100}))
    with (
        Endpoint(wrapped("up"), [fault], forever=True) as endpoint,
        caplog.at_level(logging.DEBUG),
        pytest.WarningsRecorder(_ispytest=True) as warned,
    ):
        model = opened(endpoint, timeout=1 if fault == "hang" else 30, retries=1, repairs=1)
        try:
            shown.append(answer := ask(AccountedLM(model, ledger), OneOf(("up", "down"))))
            assert answer.usage.calls == ledger.used["calls"]
        except BatchError as error:
            shown.append(everything(error))
    assert 1 <= len(endpoint.bodies) <= 4
    assert set(ledger.violations) == ({"tokens"} if fault == "huge usage" else set())
    assert any(CANARY in str(headers) for headers in endpoint.headers), "the endpoint did get the key"
    shown += [repr(model), str(model), model.name, model.identity, repr(model._wire)]
    shown += [str(warning.message) for warning in warned]
    shown += [record.getMessage() for record in caplog.records]
    assert CANARY not in repr(shown)


URLS = [f"https://{CANARY}@host/v1", f"https://me:{CANARY}@host/v1", f"https://host/v1?key={CANARY}"]
URLS += [f"http://127.0.0.1:1/{CANARY}/v1", f"h:/{CANARY.upper()}"]


@pytest.mark.parametrize("name", [*(f"test@{url}" for url in URLS), f"{CANARY}@http://127.0.0.1:1"])
def test_a_key_in_a_model_string_is_refused_and_not_repeated(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = pytest.raises(ConfigError, match="OPENAI_API_KEY")
    with refused as caught:
        open_model(f"openai:{name}")
    assert CANARY not in everything(caught.value).lower()
    monkeypatch.setenv("OPENAI_BASE_URL", name.removeprefix("test@"))
    with refused as caught:
        open_model("openai:test")
    assert CANARY not in everything(caught.value).lower()


def test_a_key_with_odd_characters_is_refused_and_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", CANARY + "\n")
    with pytest.raises(ModelError, match="OPENAI_API_KEY") as caught:
        open_model("openai:test")
    assert CANARY not in everything(caught.value)


def test_the_list_of_models_shows_variables_and_no_keys(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("VLLM_BASE_URL", f"http://{CANARY}@host/v1")
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    assert main(["models"]) == 0
    listed = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert "ready" in listed["openai:NAME[@URL]"]
    assert "not usable: GEMINI_API_KEY is not set" in listed["gemini:NAME[@URL]"]
    assert "extra anthropic" in listed["anthropic:NAME[@URL]"]
    assert CANARY not in str(listed)
