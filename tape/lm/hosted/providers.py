"""The providers: what each model string means, and what it needs.

``PROVIDER:NAME[@URL][#OPTION=VALUE,...]``, for instance ``openai:my-model@http://127.0.0.1:8000/v1#concurrency=16``.
Keys come from the environment only.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from ipaddress import ip_address
from typing import Any, get_args
from urllib.parse import urlsplit

from tape.errors import ConfigError, ModelError
from tape.lm.base import LanguageModel
from tape.lm.hosted.limits import Booked, EndpointLimits
from tape.lm.hosted.model import HostedLM
from tape.lm.hosted.wire import Wire
from tape.lm.hosted.wires import LENGTH_FIELDS, AnthropicWire, OpenAIWire
from tape.lm.price import FREE, TokenPrice
from tape.plugins import missing_extra, require_extra
from tape.redaction import hide, redacted

PROMPT_FORMATS = ("chat", "compact", "household", "chains", "search")
"""Of general models, then those of the bundled ones."""

_ARGUMENT = re.compile(r"(?P<model>.+?)(?:@(?P<url>https?://[^#]*))?(?:#(?P<options>.*))?", re.DOTALL)


@dataclass(frozen=True)
class Provider:
    """One way to reach hosted models; calling it opens one.

    Attributes:
        name: The word before the colon.
        about: One line for ``tape models``.
        url: Where it is unless another URL is given.
        wire: Makes the provider's part from model, URL and key.
        package: The client package that it needs, which is also the extra's name.
        needs_key: Whether it can be used without one at its own URL.
        bills_errors: Whether it may bill a call that it answers by an HTTP error, by its documentation; of a server of
            one's own, nobody does. Counts for :attr:`url` and for servers that cost nothing alone.
    """

    name: str
    about: str
    url: str
    wire: Callable[[str, str, str], Wire]
    package: str = "openai"
    needs_key: bool = False
    bills_errors: bool = True

    @property
    def key(self) -> str:
        """The environment variable with the key."""
        return f"{self.name.upper()}_API_KEY"

    @property
    def url_variable(self) -> str:
        """The environment variable that replaces the URL."""
        return f"{self.name.upper()}_BASE_URL"

    def needs(self) -> str:
        """What must be there, in words."""
        optional = "" if self.needs_key else " if the server wants one"
        return f"extra {self.package}, key in {self.key}{optional}; {self.url} or {self.url_variable}"

    @property
    def free(self) -> bool:
        """Whether its models cost nothing where no URL and no price is given: the server is on this machine."""
        return is_here(os.environ.get(self.url_variable) or self.url)

    def missing(self) -> str | None:
        """What is not there; None where it can be used now, as far as that shows without calling it."""
        if reason := missing_extra(self.package, self.package, "outlines"):
            return reason
        if self.needs_key and not os.environ.get(self.url_variable) and not os.environ.get(self.key):
            return f"{self.key} is not set"
        return None

    def __call__(self, argument: str, price: TokenPrice | None = None) -> LanguageModel:
        """Open ``NAME[@URL][#OPTION=VALUE,...]``.

        Args:
            argument: What stands after the provider's name.
            price: Its price per token. If it is not declared, it is unknown, but zero for a server on this machine and
                with the option ``price=0``.

        Raises:
            ConfigError: The argument is malformed, or the URL holds a secret.
            ModelError: No key is set where one is needed.
            MissingExtraError: The client package is not installed.
        """
        match = _ARGUMENT.fullmatch(argument)
        if match is None:
            raise ConfigError(f"{self.name}: expected {self.name}:NAME[@URL][#OPTION=VALUE,...]")
        url = match["url"] or os.environ.get(self.url_variable) or self.url
        key = os.environ.get(self.key, "")
        hide(key, f"the key in {self.key}")
        if redacted([argument, url]) != [argument, url]:
            raise ConfigError(f"{self.name}: the model string holds the key; it belongs into {self.key} alone")
        self._check_url(url)
        values, prompt_format, free = _options(self.name, match["options"] or "")
        free = price is None and (free or is_here(url))
        if not self.bills_errors and (url == self.url if self.needs_key else free):
            values = {"after_error": "nothing", **values}
        require_extra(self.package, self.package, "outlines", what=f"{self.name}:{match['model']}")
        if not key and self.needs_key and url == self.url:
            raise ModelError(f"{self.name}:{match['model']} needs a key: set the environment variable {self.key}")
        if not re.fullmatch(r"[!-~]*", key):
            raise ModelError(f"the environment variable {self.key} holds characters that no key has; set it again")
        return HostedLM(
            self.wire(match["model"], url, key),
            name=f"{self.name}:{argument}",
            identity=f"{self.name}:{match['model']}@{url}",
            prompt_format=prompt_format,
            price=FREE if free else price,
            limits=EndpointLimits(**values),
        )

    def listed(self, argument: str) -> str:
        """The name that price lists have it by: without options, and with its URL where that is not the usual one."""
        match = _ARGUMENT.fullmatch(argument)
        if match is None:
            return f"{self.name}:{argument}"
        url = match["url"] or os.environ.get(self.url_variable) or self.url
        return f"{self.name}:{match['model']}" + ("" if url == self.url else f"@{url}")

    def _check_url(self, url: str) -> None:
        """Refuse URLs with secrets, without repeating them: names of models are written to traces."""
        parts = urlsplit(url)
        if parts.username or parts.password or parts.query:
            raise ConfigError(
                f"{self.name}: the URL must hold no user, password or query; put the key into the environment variable "
                f"{self.key}"
            )
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError(f"{self.name}: {url!r} is no http or https URL, for instance http://127.0.0.1:8000/v1")


def is_here(url: str) -> bool:
    """Whether a URL is one of this machine: localhost, 127.0.0.0/8 or ::1.

    A proxy that listens there may still call a paid service: then declare its price.
    """
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False  # a name


def _options(provider: str, text: str) -> tuple[dict[str, Any], str, bool]:
    """Read ``concurrency=4,format=compact,price=0``: limits, prompt format, and whether the server costs nothing."""
    kinds = {name: type(default) for name, default in asdict(EndpointLimits()).items()}
    values: dict[str, Any] = {}
    prompt_format, free = PROMPT_FORMATS[0], False
    for part in filter(None, text.split(",")):
        name, _, value = part.partition("=")
        if name == "format" and value in PROMPT_FORMATS:
            prompt_format = value
            continue
        if name == "price":
            if value != "0":
                raise ConfigError(
                    f"{provider}: the only price in a model's string is price=0, for a server that costs nothing, got "
                    f"{part!r}; other prices are declared in a file (--prices FILE, docs/reference/budgets.md)"
                )
            free = True
            continue
        try:
            values[name] = kinds[name](value)
        except (KeyError, ValueError):
            raise ConfigError(
                f"{provider}: {part!r} is no option; there are format={'|'.join(PROMPT_FORMATS)}, price=0, "
                f"{' and '.join(name for name in kinds if kinds[name] is str)}={'|'.join(get_args(Booked))}, and "
                f"numbers for {', '.join(name for name in kinds if kinds[name] is not str)}"
            ) from None
    return values, prompt_format, free


def _openai(model: str, url: str, key: str) -> Wire:
    # OpenAI's own models take max_completion_tokens only, most other servers max_tokens only.
    own = urlsplit(url).hostname == "api.openai.com"
    return OpenAIWire(model, url, key, "openai" if own else "compatible", LENGTH_FIELDS[::-1] if own else LENGTH_FIELDS)


OPENAI = Provider(
    "openai",
    "OpenAI, or any OpenAI-compatible endpoint by its URL",
    "https://api.openai.com/v1",
    _openai,
    needs_key=True,
)
ANTHROPIC = Provider(
    "anthropic",
    "Anthropic",
    "https://api.anthropic.com",
    AnthropicWire,
    package="anthropic",
    needs_key=True,
    # "In general, failed requests are not charged", but calls whose client hangs up or times out are:
    # https://support.claude.com/en/articles/8114526-how-will-i-be-billed-for-claude-api-use
    bills_errors=False,
)
GEMINI = Provider(
    "gemini",
    "Gemini, by Google's OpenAI-compatible endpoint",
    "https://generativelanguage.googleapis.com/v1beta/openai/",
    partial(OpenAIWire, seed_field=""),
    needs_key=True,
    # "If your request fails with a 400 or 500 error, you won't be charged for the tokens used":
    # https://ai.google.dev/gemini-api/docs/billing
    bills_errors=False,
)
MISTRAL = Provider(
    "mistral",
    "Mistral",
    "https://api.mistral.ai/v1",
    partial(OpenAIWire, seed_field="random_seed", seed_bits=31),
    needs_key=True,
)
_own = partial(Provider, bills_errors=False)
VLLM = _own(
    "vllm", "a vLLM server, version 0.12 or newer", "http://localhost:8000/v1", partial(OpenAIWire, flavour="vllm")
)
SGLANG = _own("sglang", "an SGLang server", "http://localhost:30000/v1", partial(OpenAIWire, flavour="sglang"))
OLLAMA = _own(
    "ollama", "an Ollama server", "http://localhost:11434/v1", partial(OpenAIWire, seed_bits=31, samples=False)
)
LLAMACPP = _own(
    "llamacpp", "a llama.cpp server", "http://localhost:8080/v1", partial(OpenAIWire, flavour="llamacpp", seed_bits=31)
)

PROVIDERS = (OPENAI, ANTHROPIC, GEMINI, MISTRAL, VLLM, SGLANG, OLLAMA, LLAMACPP)
