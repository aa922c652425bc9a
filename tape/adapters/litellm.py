"""A budget inside LiteLLM's proxy: a call's worst case is reserved before it is sent (docs/reference/litellm.md).

Three lines of the proxy's own YAML::

    litellm_settings:
      callbacks: ["tape.adapters.litellm.budget"]
      callback_settings: {tape: {ledger: "file:///var/lib/tape/budget.ledger", scope: org/proxy, session: "$1"}}
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from contextvars import ContextVar
from typing import Any

from tape.adapters import litellm_requests as requests
from tape.adapters.litellm_requests import MOST_CALLS, MOST_GUARDS, MOST_MODELS, Settings
from tape.adapters.usage import Meter, is_usage_alone
from tape.budget import LedgerError, LedgerStore, PausedError, open_store
from tape.budget.accounts import named
from tape.errors import BudgetExceededError, ConfigError, TapeError, UnknownCostError
from tape.guard.charges import ModelRequest
from tape.guard.guard import Guard
from tape.guard.left import amount
from tape.guard.model_prices import Seen
from tape.plugins import require_extra
from tape.reading import shaped
from tape.waiting import answer_of

require_extra("litellm", "litellm", "fastapi", what="the budget of LiteLLM's proxy")
import litellm
from fastapi import HTTPException
from litellm.integrations.custom_logger import CustomLogger

from tape.adapters.litellm_calls import ClientCall

_ENDS = 16
"""Calls that end at once."""
_NO_SESSION = "no-session"
"""The session of calls that name none; the caps of a session hold for it too."""

_current: ContextVar[ClientCall | None] = ContextVar("_current", default=None)
"""The call of the request that is served. Ids of calls are the client's, so nothing is found by them."""


class ProxyBudget(CustomLogger):
    """The callback."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._settings: Settings | None = None
        self._store: LedgerStore | None = None
        self._guards: OrderedDict[str, Guard] = OrderedDict()
        self._seen: Seen = ({}, {})
        self._threads = ThreadPoolExecutor(MOST_CALLS, thread_name_prefix="tape pays")
        self._ends = ThreadPoolExecutor(_ENDS, thread_name_prefix="tape settles")
        self._ending = set[Future[None]]()
        """Calls that are being settled, for which no answer waits."""

    # --- the proxy's hooks ----------------------------------------------------------------------

    async def async_pre_call_hook(self, user_api_key_dict: Any, cache: Any, data: Any, call_type: str) -> Any:
        """Reserve the worst case of a call, and limit it to what fits."""
        del cache
        earlier = _current.get()
        if earlier is not None and not earlier.sent:  # the proxy begins anew, with another model
            self._soon(earlier.ended(None))
        if requests.is_free(call_type):
            return data
        asking = self._threads.submit(self._begin, user_api_key_dict, data, call_type)
        try:
            call = await answer_of(asking, lambda call: call.ended(None)())
        except TapeError as error:
            raise await asyncio.to_thread(self._refusal, error, user_api_key_dict, data, call_type) from error
        _current.set(call)
        call.asked.limited(data, call.limit)
        if data.get("stream") and "completion" in call_type:
            options = data.get("stream_options") or {}
            call.hides_usage = not options.get("include_usage")
            data["stream_options"] = {**options, "include_usage": True}
        return data

    async def async_pre_call_deployment_hook(self, kwargs: Any, call_type: Any) -> Any:
        """Reserve anew where the proxy sends a call again, perhaps elsewhere."""
        call, sort = _current.get(), str(getattr(call_type, "value", call_type))
        if call is None:
            if not (requests.is_free(sort) or self._read_settings().unreserved):
                raise _http(402, "not_payable", f"nothing is reserved for this call ({sort}), so it is not made")
            return kwargs
        if not call.is_paid(sort, kwargs["model"]):
            asking = self._threads.submit(call.pay_again, kwargs["model"])
            try:
                await answer_of(asking, call.released)
            except TapeError as error:
                raise _http(402, "budget_exceeded", f"it is not sent again: {error}") from error
        if sort == call.sort:  # the proxy's YAML may say more
            kwargs.update({name: call.limit for name in call.asked.fields if kwargs.get(name) is not None})
        return {**kwargs, "max_retries": 0}  # by a provider's SDK, which this would not see

    async def async_post_call_success_deployment_hook(self, request_data: Any, response: Any, call_type: Any) -> None:
        """Note that a provider has answered; what the proxy says of its answer later is no failure of the call."""
        del request_data, response, call_type
        if (call := _current.get()) is not None:
            call.answers = True

    async def async_post_call_success_hook(self, data: Any, user_api_key_dict: Any, response: Any) -> Any:
        """Settle by what the provider reports."""
        del data, user_api_key_dict
        if (call := _current.get()) is not None:
            meter = Meter()
            meter.take(response)
            hidden = getattr(response, "_hidden_params", None) or {}
            self._soon(call.ended(meter.usage, cached=bool(hidden.get("cache_hit"))))
        return response

    async def async_post_call_streaming_iterator_hook(
        self, user_api_key_dict: Any, response: Any, request_data: Any
    ) -> AsyncGenerator[Any, None]:
        """Pass a stream on, and settle at its end; at the worst case where it has none."""
        del user_api_key_dict, request_data
        call, meter, usage = _current.get(), Meter(), None
        if call is not None:
            call.answers = True
        try:
            async for chunk in response:
                meter.take(chunk)
                if call is None or not call.hides_usage or not is_usage_alone(chunk):
                    yield chunk
            # What the provider has said, where LiteLLM keeps it; the rest LiteLLM counts itself.
            if theirs := getattr(response, "chunks", None):
                meter = Meter()
                for chunk in theirs:
                    meter.take(chunk)
            usage = meter.usage
        finally:
            if call is not None:
                self._soon(call.ended(usage))

    async def async_log_failure_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        """Note that a call was sent in vain; the proxy may send it again."""
        del response_obj, start_time, end_time
        if (call := _current.get()) is not None:
            self._soon(call.failed(kwargs.get("exception")))

    async def async_post_call_failure_hook(
        self, request_data: Any, original_exception: Exception, user_api_key_dict: Any, traceback_str: Any = None
    ) -> None:
        """Settle a call that has failed for good."""
        del request_data, user_api_key_dict, traceback_str
        if (call := _current.get()) is not None:
            self._soon(call.failed(original_exception))
            self._soon(call.ended(None))

    async def async_post_call_response_headers_hook(
        self,
        data: Any,
        user_api_key_dict: Any,
        response: Any,
        request_headers: Any = None,
        litellm_call_info: Any = None,
    ) -> dict[str, str]:
        """Say to how many tokens a call was limited."""
        del data, user_api_key_dict, response, request_headers, litellm_call_info
        call = _current.get()
        return {} if call is None or call.limit >= call.asked.limit else {"x-tape-max-tokens": str(call.limit)}

    # --- calls ----------------------------------------------------------------------------------

    def _soon(self, ending: Callable[[], None]) -> None:
        """Settle something; nobody waits for it."""
        done = self._ends.submit(ending)
        self._ending.add(done)
        done.add_done_callback(self._ending.discard)

    def _begin(self, key: Any, data: Any, call_type: str) -> ClientCall:
        guard = self._guard(key, data)
        asked = requests.asked_of(call_type, data, guard.most_tokens)
        call = ClientCall(guard, call_type, asked, _read(data), data["model"])
        models = requests.deployments(data["model"], key.team_id)
        if ending := set(self._ending):
            with suppress(BudgetExceededError):
                call.pay(models)
                return call
            wait(ending)  # what has just ended may give room
        call.pay(models, fit=True)
        return call

    # --- who pays -------------------------------------------------------------------------------

    def _read_settings(self) -> Settings:
        self._settings = self._settings or _settings()
        return self._settings

    def _guard(self, key: Any, data: Any) -> Guard:
        """The guard of the scope of a call."""
        with self._lock:
            settings = self._read_settings()
            self._store = self._store or open_store(settings.ledger)
        headers = {k.lower(): v for k, v in (data.get("proxy_server_request") or {}).get("headers", {}).items()}
        who = [key.team_alias or key.team_id or "", key.key_alias or (key.token or "")[:24]]
        path = [settings.scope, *(named(text) for text in who if text)]
        if session := requests.session_of(data, headers) or (settings.session and _NO_SESSION):
            path.append(named(session))
        labels = dict(word.strip().partition("=")[::2] for word in headers.get("x-tape-labels", "").split(",") if word)
        if strange := sorted(labels.keys() - set(settings.labels)):
            raise ConfigError(f"x-tape-labels: {strange[0]} is none of the labels that this proxy takes")
        name = json.dumps([path, labels])
        with self._lock:
            if (guard := self._guards.get(name)) is not None:
                self._guards.move_to_end(name)
                return guard
        scope = "/".join(path)
        budget = settings.session
        if budget and any(balance.cap.account == scope for balance in self._store.read(scope, {})):
            budget = ""  # its caps are there, perhaps changed by hand
        made = Guard(
            budget, models={**requests.declared(), **settings.models}, prices=settings.prices,
            most_tokens=settings.most_tokens, least_tokens=settings.least_tokens,
            bytes_per_token=settings.bytes_per_token, tokenizers=settings.tokenizers, content=settings.content,
            substitutes=settings.substitutes, journal=self._store, scope=scope, labels=labels,
        )  # fmt: skip
        made.prices.seen = self._seen
        with self._lock:
            kept = self._guards.setdefault(name, made)
            while len(self._guards) > MOST_GUARDS:
                self._guards.popitem(last=False)[1].close()
        if kept is not made:
            made.close()
        return kept

    def _refusal(self, error: TapeError, key: Any, data: Any, call_type: str) -> HTTPException:
        message = f"not sent, nothing was spent: {error}"
        if isinstance(error, PausedError):
            return _http(402, "paused", message)
        if isinstance(error, BudgetExceededError):
            fields = self._fields(error, self._guard(key, data), data, call_type)
            return _http(402, "budget_exceeded", message, **fields)
        if isinstance(error, LedgerError):
            return _http(503, "ledger", message)
        if isinstance(error, UnknownCostError):
            message += " (models, content and substitutes are set in the proxy's YAML under callback_settings: tape:)"
        return _http(400, "not_payable", message)

    def _fields(self, error: BudgetExceededError, guard: Guard, data: Any, call_type: str) -> dict[str, Any]:
        """How large the cap would have to be, and which models of the proxy would fit."""
        counts = {"requested": error.requested, "left": max(0, error.limit - error.used), "cap": error.limit,
                  "cap_needed": error.used + error.requested}  # fmt: skip
        least, fitting = max(1, guard.least_tokens) * requests.choices_of(call_type, data), []
        request = _read(data)
        for name in requests.models()[:MOST_MODELS]:
            with suppress(TapeError):
                if all(
                    guard.fits(guard.quote(deployment, request).worst(least))
                    for deployment in requests.deployments(name)
                ):
                    fitting.append(name)
        units = {name: amount(error.kind, count) for name, count in counts.items()}
        return {"resource": error.kind, "scope": error.ledger, **units, "would_fit": fitting}


def _read(data: dict[str, Any]) -> ModelRequest:
    return ModelRequest.read(requests.sent(data))


budget = ProxyBudget()
"""What the proxy's configuration names."""


class _Refusal(HTTPException):
    """An error as the proxy shows it: some of its interfaces take the text, the others the fields."""

    type = ""

    def __str__(self) -> str:
        return str(self.detail["message"] if isinstance(self.detail, dict) else self.detail)


def _http(status: int, sort: str, message: str, **fields: Any) -> HTTPException:
    """The proxy's own error; SDKs do not try 400 and 402 again."""
    error = _Refusal(status, {"message": message, "type": sort, **fields})
    error.type = sort
    return error


def _settings() -> Settings:
    given = (litellm.callback_settings or {}).get("tape")
    if given is None:
        raise ConfigError("the YAML has no litellm_settings: callback_settings: tape: (docs/reference/litellm.md)")
    return shaped(given, Settings, "litellm_settings.callback_settings.tape", error=ConfigError)
