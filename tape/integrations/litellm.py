"""A budget inside LiteLLM's proxy: a call's worst case is reserved in the ledger before it is sent (docs/litellm.md).

Three lines of the proxy's own YAML::

    litellm_settings:
      callbacks: ["tape.integrations.litellm.budget"]
      callback_settings: {tape: {ledger: "file:///var/lib/tape/budget.ledger", scope: org/proxy, session: "$1"}}
"""

from __future__ import annotations

import asyncio
import json
import secrets
import threading
from collections import OrderedDict
from collections.abc import AsyncGenerator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from decimal import Decimal
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from tape.errors import BudgetExceededError, ConfigError, TapeError, UnknownCostError
from tape.gateway.charges import ModelCharge
from tape.gateway.guard import Guard
from tape.gateway.ledgers import amount
from tape.gateway.shared_calls import answer_of
from tape.integrations.usage import Meter, Usage, is_usage_alone
from tape.ledger import LedgerError, LedgerStore, PausedError, open_store
from tape.ledger.accounts import named
from tape.plugins import require_extra
from tape.reading import shaped

require_extra("litellm", "litellm", "fastapi", what="the budget of LiteLLM's proxy")
import litellm
from fastapi import HTTPException
from litellm.integrations.custom_logger import CustomLogger

_LIMITS = {
    "acompletion": ("max_completion_tokens", "max_tokens"),
    "completion": ("max_completion_tokens", "max_tokens"),
    "atext_completion": ("max_tokens",),
    "text_completion": ("max_tokens",),
    "anthropic_messages": ("max_tokens",),
    "aresponses": ("max_output_tokens",),
    "responses": ("max_output_tokens",),
    "aembedding": (),
    "embeddings": (),
    "embedding": (),
}
"""By the kind of a call, what limits its completion; the last one is set where none is. Others are not priced."""
_NOT_SENT = frozenset(
    ("litellm_call_id", "litellm_logging_obj", "litellm_metadata", "metadata", "proxy_server_request", "secret_fields")
)
_MARK, _LIMITED = "tape_call", "tape_max_tokens"
_THREADS = 256
_MOST_MODELS = 50
_MOST_GUARDS = 1000
"""Scopes that are kept open; one more takes the place of the one that was not used for longest."""
_NOT_BILLED = frozenset(range(400, 500)) - {408, 409}
"""Statuses after which a provider has computed nothing."""


class Settings(BaseModel):
    """``callback_settings: {tape: ...}``.

    Attributes:
        ledger: Its address.
        scope: Above all calls; the team, the key and the session of a call come below it.
        session: The caps of each session, such as ``"$1"``.
        labels: Names of labels that clients may give in the header ``x-tape-labels``.
        most_tokens: The limit of a call that sets none.
        least_tokens: A call is limited to fewer tokens where more do not fit, but not below this; 0 refuses it.
        bytes_per_token: See :class:`~tape.Guard`, as the other ones.
        models: By deployment, its price or another name.
        prices: A price file.
        content: The worst cases of parts.
    """

    model_config = ConfigDict(extra="forbid")
    ledger: str
    scope: str = "litellm"
    session: str = ""
    labels: list[str] = []
    most_tokens: int = Field(4096, ge=1)
    least_tokens: int = Field(16, ge=0)
    bytes_per_token: int = Field(1, ge=1)
    models: dict[str, tuple[Decimal | str, Decimal | str] | str] = {}
    prices: str | None = None
    content: dict[str, Any] = {}


class _Call:
    """A request of a client, and what is set aside for each time that it is sent."""

    def __init__(self, guard: Guard, request: Mapping[str, Any], limit: int, choices: int) -> None:
        self._guard, self._request, self._choices = guard, request, choices
        self._lock = threading.Lock()
        self._open: list[tuple[AbstractContextManager[ModelCharge], ModelCharge]] = []
        self.asked = self.limit = limit
        """Tokens of each completion, as the client has them and as they are paid for; 0 where there is none."""
        self.sent = 0
        self.hides_usage = False
        """The client has not asked for the usage that ends a stream."""

    def pay(self, models: Sequence[str]) -> _Call:
        """Set aside what the dearest of some models takes; the first time, fewer tokens where not all of them fit.

        Raises:
            BudgetExceededError, UnknownCostError, ConfigError, LedgerError: See :meth:`tape.Guard.model`.
        """
        most = max(1, self.limit * self._choices)
        dearest = max(models, key=lambda name: self._guard.quote(name, self._request).worst(most)["usd"] or 0)
        context = self._guard.model(dearest, self._request, most, fit=self.limit > 0 and not self.sent)
        charge = context.__enter__()
        with self._lock:
            self._open.append((context, charge))
        self.limit = min(self.limit, charge.most_tokens // self._choices)
        return self

    def failed(self, status: int) -> None:
        """The first time of those that it is out was in vain."""
        with self._lock:
            found = self._open[:1]
            del self._open[:1]
        for context, charge in found:
            if status in _NOT_BILLED:
                charge.not_made()
            context.__exit__(None, None, None)

    def answered(self, usage: Usage | None) -> None:
        """The last time was answered, with this usage if one is reported; what else is out has failed."""
        while len(self._open) > 1:
            self.failed(500)
        with self._lock:
            found, self._open = self._open, []
        for context, charge in found:
            if usage is not None:
                charge.used(usage.prompt, usage.completion, cached=usage.cached, written=usage.written)
            context.__exit__(None, None, None)


class Budget(CustomLogger):
    """The callback."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._settings: Settings | None = None
        self._store: LedgerStore | None = None
        self._guards: OrderedDict[str, Guard] = OrderedDict()
        self._calls: dict[str, _Call] = {}
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="tape pays")

    # --- the proxy's hooks ----------------------------------------------------------------------

    async def async_pre_call_hook(self, user_api_key_dict: Any, cache: Any, data: Any, call_type: str) -> Any:
        """Reserve the worst case of a call, and limit it to what fits."""
        del cache
        asking = self._threads.submit(self._begin, user_api_key_dict, data, call_type)
        try:
            call = await answer_of(asking, lambda call: call.failed(400))
        except TapeError as error:
            raise await asyncio.to_thread(self._refusal, error, user_api_key_dict, data) from error
        if fields := _LIMITS[call_type]:
            given = [name for name in fields if data.get(name)]
            for name in given or fields[-1:]:
                data[name] = call.limit
        if data.get("stream") and "completion" in call_type:
            options = data.get("stream_options") or {}
            call.hides_usage = not options.get("include_usage")
            data["stream_options"] = {**options, "include_usage": True}
        mark = secrets.token_hex(16)
        self._calls[mark] = call
        details = data["litellm_logging_obj"].model_call_details
        details[_MARK] = data.setdefault("metadata" if "metadata" in data else "litellm_metadata", {})[_MARK] = mark
        if call.limit < call.asked:
            details[_LIMITED] = call.limit
        return data

    async def async_pre_call_deployment_hook(self, kwargs: Any, call_type: Any) -> Any:
        """Reserve anew where the proxy sends a call again, perhaps elsewhere."""
        del call_type
        call = self._of(kwargs)
        if call is not None:
            call.sent += 1
            if call.sent > 1:
                try:
                    await answer_of(self._threads.submit(call.pay, [kwargs["model"]]), lambda _: call.failed(400))
                except TapeError as error:
                    raise _http(402, "budget_exceeded", f"it is not sent again: {error}") from error
        return kwargs

    async def async_post_call_success_hook(self, data: Any, user_api_key_dict: Any, response: Any) -> Any:
        """Settle by what the provider reports."""
        del user_api_key_dict
        call, meter = self._of(data), Meter()
        meter.take(response)
        if call is not None and (getattr(response, "_hidden_params", None) or {}).get("cache_hit"):
            call.failed(404)  # the proxy has answered it from its own cache
        await self._end(data, meter.usage)
        return response

    async def async_post_call_streaming_iterator_hook(
        self, user_api_key_dict: Any, response: Any, request_data: Any
    ) -> AsyncGenerator[Any, None]:
        """Pass a stream on, and settle at its end; at the worst case where it has none."""
        del user_api_key_dict
        call, meter, usage = self._of(request_data), Meter(), None
        try:
            async for chunk in response:
                meter.take(chunk)
                if call is None or not call.hides_usage or not is_usage_alone(chunk):
                    yield chunk
            theirs = getattr(response, "chunks", None)
            if not theirs or any(getattr(one, "usage", None) for one in theirs):  # else LiteLLM has counted itself
                usage = meter.usage
        finally:
            await asyncio.shield(self._end(request_data, usage))

    async def async_log_failure_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        """Note that a call was sent in vain; the proxy may send it again."""
        del response_obj, start_time, end_time
        call = self._calls.get(kwargs.get(_MARK, ""))
        if call is not None:
            self._threads.submit(call.failed, _status(kwargs.get("exception")))

    async def async_post_call_failure_hook(
        self, request_data: Any, original_exception: Exception, user_api_key_dict: Any, traceback_str: Any = None
    ) -> None:
        """Settle a call that has failed for good."""
        del user_api_key_dict, traceback_str
        call = self._of(request_data)
        if call is not None:
            await asyncio.wrap_future(self._threads.submit(call.failed, _status(original_exception)))
        await self._end(request_data, None)

    async def async_post_call_response_headers_hook(
        self,
        data: Any,
        user_api_key_dict: Any,
        response: Any,
        request_headers: Any = None,
        litellm_call_info: Any = None,
    ) -> dict[str, str]:
        """Say to how many tokens a call was limited."""
        del user_api_key_dict, response, request_headers, litellm_call_info
        limit = getattr(data.get("litellm_logging_obj"), "model_call_details", {}).get(_LIMITED)
        return {} if limit is None else {"x-tape-max-tokens": str(limit)}

    # --- calls ----------------------------------------------------------------------------------

    def _of(self, data: Any) -> _Call | None:
        return self._calls.get(_mark_of(data))

    async def _end(self, data: Any, usage: Usage | None) -> None:
        call = self._calls.pop(_mark_of(data), None)
        if call is not None:
            await asyncio.wrap_future(self._threads.submit(call.answered, usage))

    def _begin(self, key: Any, data: Any, call_type: str) -> _Call:
        if call_type not in _LIMITS:
            raise UnknownCostError(f"the worst case of a call of {call_type} is not known; it is not made")
        guard, fields = self._guard(key, data), _LIMITS[call_type]
        limit = min((int(data[name]) for name in fields if data.get(name)), default=guard.most_tokens)
        call = _Call(guard, _sent(data), limit if fields else 0, _choices(data))
        return call.pay(_deployments(data["model"]))

    # --- who pays -------------------------------------------------------------------------------

    def _guard(self, key: Any, data: Any) -> Guard:
        """The guard of the scope of a call."""
        with self._lock:
            settings = self._settings = self._settings or _settings()
            self._store = self._store or open_store(settings.ledger)
            headers = {k.lower(): v for k, v in (data.get("proxy_server_request") or {}).get("headers", {}).items()}
            who = [key.team_alias or key.team_id or "", key.key_alias or (key.token or "")[:24]]
            path = [settings.scope, *(named(one) for one in who if one)]
            if session := headers.get("x-tape-session") or _metadata(data).get("session_id"):
                path.append(named(str(session)))
            labels = dict(one.strip().partition("=")[::2] for one in headers.get("x-tape-labels", "").split(",") if one)
            if strange := sorted(labels.keys() - set(settings.labels)):
                raise ConfigError(f"x-tape-labels: {strange[0]} is none of the labels that this proxy takes")
            name = json.dumps([path, labels])
            if name not in self._guards:
                while len(self._guards) >= _MOST_GUARDS:
                    self._guards.popitem(last=False)[1].close()
                self._guards[name] = Guard(
                    settings.session if session else "", models={**_declared(), **settings.models},
                    prices=settings.prices, most_tokens=settings.most_tokens, least_tokens=settings.least_tokens,
                    bytes_per_token=settings.bytes_per_token, content=settings.content, journal=self._store,
                    scope="/".join(path), labels=labels,
                )  # fmt: skip
            self._guards.move_to_end(name)
            return self._guards[name]

    def _refusal(self, error: TapeError, key: Any, data: Any) -> HTTPException:
        message = f"not sent, nothing was spent: {error}"
        if isinstance(error, PausedError):
            return _http(402, "paused", message)
        if isinstance(error, BudgetExceededError):
            return _http(402, "budget_exceeded", message, **self._fields(error, self._guard(key, data), data))
        if isinstance(error, LedgerError):
            return _http(503, "ledger", message)
        return _http(400, "not_payable", message)

    def _fields(self, error: BudgetExceededError, guard: Guard, data: Any) -> dict[str, Any]:
        """How large the cap would have to be, and which models of the proxy would fit."""
        counts = {"requested": error.requested, "left": max(0, error.limit - error.used), "cap": error.limit,
                  "cap_needed": error.used + error.requested}  # fmt: skip
        least, fitting = max(1, guard.least_tokens) * _choices(data), []
        for name in sorted(set(_router_models()))[:_MOST_MODELS]:
            with suppress(TapeError):
                if all(guard.fits(guard.quote(one, _sent(data)).worst(least)) for one in _deployments(name)):
                    fitting.append(name)
        units = {name: amount(error.kind, count) for name, count in counts.items()}
        return {"resource": error.kind, "scope": error.ledger, **units, "would_fit": fitting}


budget = Budget()
"""What the proxy's configuration names."""


class _Refusal(HTTPException):
    """An error as the proxy shows it: some of its interfaces take the text, the others the fields."""

    type = ""

    def __str__(self) -> str:
        return str(self.detail["message"] if isinstance(self.detail, dict) else self.detail)


def _status(error: Any) -> int:
    status = getattr(error, "status_code", None)
    return status if type(status) is int else 500


def _http(status: int, sort: str, message: str, **fields: Any) -> HTTPException:
    """The proxy's own error; SDKs do not try 400 and 402 again."""
    error = _Refusal(status, {"message": message, "type": sort, **fields})
    error.type = sort
    return error


def _settings() -> Settings:
    given = (litellm.callback_settings or {}).get("tape")
    if given is None:
        raise ConfigError("the proxy's YAML has no litellm_settings: callback_settings: tape: (docs/litellm.md)")
    return shaped(given, Settings, "litellm_settings.callback_settings.tape", error=ConfigError)


def _sent(data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name not in _NOT_SENT}


def _mark_of(data: Mapping[str, Any]) -> str:
    """What tells calls apart; ids of calls are the client's. A failed call has lost its logging object."""
    details = getattr(data.get("litellm_logging_obj"), "model_call_details", None)
    return str((_metadata(data) if details is None else details).get(_MARK, ""))


def _choices(data: Mapping[str, Any]) -> int:
    """How many completions a call asks for."""
    given = data.get("n")
    return given if type(given) is int and given > 1 else 1


def _metadata(data: Mapping[str, Any]) -> Mapping[str, Any]:
    found = data.get("metadata") or data.get("litellm_metadata")
    return found if isinstance(found, Mapping) else {}


def _router() -> Any:
    from litellm.proxy import proxy_server

    return proxy_server.llm_router


def _router_models() -> list[str]:
    router = _router()
    return [] if router is None else list(router.get_model_names())


def _deployments(model: str) -> list[str]:
    """What the proxy may ask where it is asked for a model."""
    router = _router()
    found = (router.get_model_list(model_name=model) if router is not None else None) or []
    return [one["litellm_params"]["model"] for one in found] or [model]


def _declared() -> dict[str, Any]:
    """What the proxy's own list of models says about prices."""
    router, found = _router(), dict[str, Any]()
    for one in (router.get_model_list() if router is not None else None) or []:
        info = {**(one.get("model_info") or {}), **one["litellm_params"]}
        if (base := info.get("base_model")) is not None:
            found[info["model"]] = base
        costs = [info.get(f"{which}_cost_per_token") for which in ("input", "output")]
        if None not in costs:
            found[info["model"]] = tuple(Decimal(str(cost)) * 1_000_000 for cost in costs)
    return found
