"""What a request to LiteLLM's proxy asks for: its limit, its completions, its deployments, and what would undo them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from tape.errors import ConfigError, UnknownCostError
from tape.lm.listed_prices import dearest, find
from tape.lm.price import TokenPrice

MOST_CALLS = 1024
"""Calls that are asked for at once, each in a thread while it waits for room or for a person."""
MOST_GUARDS = 1000
"""Scopes that are kept open; one more takes the place of the one that was not used for longest."""
MOST_MODELS = 50
"""Models that are tried for what would fit."""


class Settings(BaseModel):
    """``callback_settings: {tape: ...}``.

    Attributes:
        ledger: The address of the ledger.
        scope: Above the scopes of all calls. The team, the key and the session of a call come below it.
        session: The caps of each session, such as ``"$1"``.
        labels: Names of labels that clients may give in the header ``x-tape-labels``.
        most_tokens: The completion tokens of a call that sets no limit.
        least_tokens: A call that does not fit is limited to fewer tokens, but not below this. 0 refuses it instead.
        bytes_per_token: So many bytes of a prompt count as a token before the call. 1 is always safe, 3 is usual.
        tokenizers: What counts the tokens of a deployment's prompts: the address of a server of llama.cpp or vLLM, or
            an encoding of tiktoken.
        models: The price of a deployment, in dollars per million tokens of prompts and completions; or another name of
            it, such as ``azure:gpt-4o``.
        prices: A price file.
        content: The most that a part of a request takes whose bytes do not bound its cost, such as ``{image: 1600}``.
        substitutes: Deployments or models that may answer in the place of a deployment though they are dearer.
        unreserved: Let calls through that no request has paid for, such as health checks and ``/rag/query``.
    """

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)
    ledger: str
    scope: str = "litellm"
    session: str = ""
    labels: list[str] = []
    most_tokens: int = Field(4096, ge=1)
    least_tokens: int = Field(16, ge=0)
    bytes_per_token: int = Field(1, ge=1)
    tokenizers: Annotated[dict[str, str], "an address or an encoding by deployment"] = {}
    models: Annotated[dict[str, tuple[Decimal | str, Decimal | str] | str], "prices or names by deployment"] = {}
    prices: str | None = None
    content: Annotated[dict[str, Any], "amounts by kind of part"] = {}
    substitutes: Annotated[dict[str, list[str]], "names by deployment"] = {}
    unreserved: bool = False


LIMITS: dict[str, tuple[str, ...]] = {
    "acompletion": ("max_completion_tokens", "max_tokens"),
    "atext_completion": ("max_tokens",),
    "anthropic_messages": ("max_tokens",),
    "aresponses": ("max_output_tokens",),
    "aembedding": (),
}
"""By the kind of a call, what limits its completion; the last one is set where none is. No other kind is priced."""

_FREE = ("aget_", "alist_", "adelete_", "acancel_", "aretrieve_", "afile_", "acreate_file")
"""How kinds begin that ask no model."""

_NOT_SENT = frozenset(
    ("litellm_call_id", "litellm_logging_obj", "litellm_metadata", "metadata", "proxy_server_request", "secret_fields")
)


_COST = re.compile(r"(\w*(?:cost|pricing)\w*?)(?:_above_(\d+)k_tokens)?")
_OUT_OF_REACH = re.compile(
    r"\w+_(?:batches|flex|priority)|(?:search_context|code_interpreter|file_search|computer_use)_\w+"
)
"""Costs of tiers that nothing asks for or that are cheaper, and of tools that a provider runs, which are refused."""
_RATES = {
    "input_cost_per_token": "prompt", "output_cost_per_token": "completion", "input_cost_per_request": "call",
    "cache_read_input_token_cost": "cached", "input_cost_per_token_cache_hit": "cached",
    "cache_creation_input_token_cost": "written_5m", "cache_creation_input_token_cost_above_1hr": "written_1h",
    "output_cost_per_reasoning_token": "other", "output_cost_per_audio_token": "other",
    "output_cost_per_image_token": "other", "input_cost_per_audio_token": "media",
    "input_cost_per_image_token": "media", "input_cost_per_video_token": "media",
}  # fmt: skip
"""Which rate a cost is, of several the dearest; ``other`` are completions that may cost more than text."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_UNDOES = (
    # other names of the limit, and of the number of completions
    _words(
        "max_completion_tokens max_tokens max_output_tokens max_new_tokens max_tokens_to_sample max_length maxTokens "
        "maxOutputTokens num_predict n_predict num_return_sequences candidate_count candidateCount generation_config "
        "generationConfig inferenceConfig additionalModelRequestFields options parameters"
    )
    # what drops fields, or puts others in their place
    | _words("extra_body additional_drop_params drop_params user_config model_list api_base base_url")
    # what the proxy or the provider adds to the prompt or the answer
    | _words("prompt_id vector_store_ids prediction inference_geo")
)
"""Fields with which a call may take more than its bytes and its limit say."""

_TIERS = ("auto", "default", "flex", "standard", "standard_only", None)
_FALLBACKS = ("fallbacks", "context_window_fallbacks", "content_policy_fallbacks")


class CompletionRequest(NamedTuple):
    """What a request asks for.

    Attributes:
        fields: Those that limit its completion.
        limit: Tokens of each completion; 0 where there is none.
        choices: How many completions.
    """

    fields: tuple[str, ...]
    limit: int
    choices: int

    def limited(self, data: dict[str, Any], limit: int) -> None:
        """Write a limit into a request."""
        given = [name for name in self.fields if data.get(name) is not None]
        for name in given or self.fields[-1:]:
            data[name] = limit


def is_free(sort: str) -> bool:
    """Whether a kind of call asks no model."""
    return sort.startswith(_FREE)


def asked_of(sort: str, data: Mapping[str, Any], most_tokens: int) -> CompletionRequest:
    """Read a request.

    Raises:
        UnknownCostError: Its bytes and its limit do not bound what it takes.
        ConfigError: It is malformed.
    """
    if sort not in LIMITS:
        raise UnknownCostError(f"the worst case of a call of {sort} is not known")
    fields = LIMITS[sort]
    if not isinstance(data.get("model"), str) or "," in data["model"]:
        raise ConfigError("model: name one model; each of several would answer and be paid")
    for name in sorted(_UNDOES - set(fields)):
        if data.get(name) not in (None, False, "", [], {}):
            hint = f"; the limit of this call is {fields[-1]}" if fields else ""
            raise UnknownCostError(f"with {name} a call may take more than is reserved for it: leave it out{hint}")
    if data.get("service_tier") not in _TIERS or data.get("speed") not in ("standard", None):
        raise UnknownCostError("service_tier or speed: the price of a faster answer is not known; leave it out")
    if "compact" in str(data.get("context_management") or ""):
        raise UnknownCostError("context_management: compaction writes more tokens than the limit says; leave it out")
    for name in _FALLBACKS:
        if not _are_names(data.get(name)):
            raise ConfigError(f"{name}: name models; a fallback with settings of its own is not paid for")
    given = [_count(name, data[name]) for name in fields if data.get(name) is not None]
    limit = min(given, default=most_tokens) if fields else 0
    return CompletionRequest(fields, limit, choices_of(sort, data))


def choices_of(sort: str, data: Mapping[str, Any]) -> int:
    """How many completions a request asks for.

    Raises:
        ConfigError: It says that by no whole number.
    """
    index = max((_count(name, data[name]) for name in ("n", "best_of") if data.get(name) is not None), default=1)
    prompt = data.get("prompt")
    if sort == "atext_completion" and isinstance(prompt, list) and not all(type(item) is int for item in prompt):
        index *= max(1, len(prompt))  # each of them is answered
    return index


def sent(data: Mapping[str, Any]) -> dict[str, Any]:
    """What of a request may be sent to a provider."""
    return {name: value for name, value in data.items() if name not in _NOT_SENT}


def session_of(data: Mapping[str, Any], headers: Mapping[str, str]) -> str:
    """What a client calls its session: by our header, or as LiteLLM knows it; empty where it does not say."""
    header = headers.get("x-tape-session") or data.get("litellm_session_id")
    for name in ("litellm_metadata", "metadata"):
        metadata = data.get(name)
        header = header or (metadata.get("session_id") if isinstance(metadata, Mapping) else None)
    return str(header or "")


def _count(name: str, given: Any) -> int:
    """A number of tokens or completions. Other values than whole numbers above 0 mean "no limit" to some servers."""
    if type(given) is float and given.is_integer():
        given = int(given)
    if type(given) is not int or given < 1:
        raise ConfigError(f"{name}: expected a whole number above 0")
    return given


def _are_names(given: Any) -> bool:
    if given is None or isinstance(given, str):
        return True
    if isinstance(given, Mapping):
        return all(isinstance(item, list) and _are_names(item) for item in given.values())
    return isinstance(given, list) and all(isinstance(name, str | Mapping) and _are_names(name) for name in given)


# --- the proxy's own list of models -------------------------------------------------------------


def _router() -> Any:
    from litellm.proxy import proxy_server

    return proxy_server.llm_router


def models() -> list[str]:
    """The names by which clients ask."""
    router = _router()
    return [] if router is None else sorted(set(router.get_model_names()))


def deployments(model: str, team: str | None = None) -> list[str]:
    """What the proxy may ask where it is asked for a model."""
    router = _router()
    result = (router.get_model_list(model_name=model, team_id=team) if router is not None else None) or []
    return list(dict.fromkeys(item["litellm_params"]["model"] for item in result)) or [model]


def declared() -> dict[str, Any]:
    """What the proxy's own list of models says about prices; the dearest where several deployments have one name."""
    router, mapping = _router(), dict[str, Any]()
    for item in (router.get_model_list() if router is not None else None) or []:
        info = {**(item.get("model_info") or {}), **item["litellm_params"]}
        price = _price(info)
        before = mapping.get(info["model"])
        if isinstance(price, TokenPrice) and isinstance(before, TokenPrice):
            price = dearest([price, before])
        if price is not None and not isinstance(before, UnknownCostError):
            mapping[info["model"]] = before if isinstance(price, str) and before is not None else price
    return mapping


def _price(info: Mapping[str, Any]) -> TokenPrice | UnknownCostError | str | None:
    """The price of a deployment; why it is not known; or the name of its model, whose price it has."""
    base = next((name for name in (info.get("base_model"), info["model"]) if name is not None and find(name)), None)
    rates: dict[int, dict[str, Decimal]] = {0: {}}
    for key, cost in info.items():
        form = _COST.fullmatch(key)
        if form is None or cost is None or _OUT_OF_REACH.fullmatch(key):
            continue
        if (rate := _RATES.get(form[1])) is None or isinstance(cost, list | dict | bool):
            if cost:
                return UnknownCostError(f"{key} is no price of tokens that a call can be held to")
            continue
        held = rates.setdefault(1000 * int(form[2] or 0), {})
        held[rate] = max(held.get(rate, Decimal(0)), Decimal(str(cost)))
    own, listed = rates.pop(0), None if base is None else find(base)
    if not own and not rates:
        return base if info.get("base_model") == base else None
    price = None if listed is None else listed.price()
    if {"prompt", "completion"} <= own.keys():
        price = TokenPrice(own["prompt"], own["completion"])
    if price is None:
        return UnknownCostError("input_cost_per_token and output_cost_per_token are not both given")
    steps = [(0, price := _with(replace(price, tiers=()), own))]
    steps += [(above, price := _with(price, rates[above])) for above in sorted(rates)]
    return replace(steps[0][1], tiers=tuple(steps[1:]))


def _with(price: TokenPrice, rates: Mapping[str, Decimal]) -> TokenPrice:
    """With these rates; what is written to a cache costs no less than other tokens."""
    other, own = rates.get("other", Decimal(0)), {name: rate for name, rate in rates.items() if name != "other"}
    made = replace(price, **own)  # type: ignore[arg-type]
    short = max(made.prompt, made.written_5m or made.prompt)
    hour = max(short, made.written_1h or short)
    return replace(made, completion=max(made.completion, other), written_5m=short, written_1h=hour)
