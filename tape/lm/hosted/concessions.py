"""What an endpoint does not take: learnt from its refusals, each with one warning, and put otherwise from then on."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace

from tape.lm.base import Message, Request
from tape.lm.hosted.forms import MOST_EASE, Form, describe, eased
from tape.lm.hosted.request_account import RequestAccount
from tape.lm.hosted.wire import Call, Failure, Wire

ABOUT_THE_REQUEST = (400, 422, 500, 501)
"""Statuses that may say what a request should not have held. Servers of one's own say it by 500 too."""

_ALTERNATIVES: Mapping[str, tuple[re.Pattern[str], str]] = {
    "temperature": (re.compile(r"temperature"), "no temperature is sent"),
    "seed": (re.compile(r"seed"), "no seed is sent"),
    "n": (
        re.compile(r"(?<![\w\\/-])n(?![\w-])|(one|single|multiple) (completion|choice|sample|candidate)"),
        "samples are asked for one by one",
    ),
    "system": (
        re.compile(
            r"system (role|message|prompt|instruction)|role.{0,40}\bsystem|['\"`]system['\"`]|\bsystem: "
            r"|developer instruction|roles must alternate|only user and assistant"
        ),
        "what the system says stands at the beginning of the user's first message",
    ),
}
"""What a call can do without: what a refusal of it looks like, and what is done instead."""

_ABOUT_FORMS = ("schema", "response_format", "structured", "output_config", "regex", "grammar", "choice", "pattern")
"""Words in the refusal of a request that is refused for what it wants enforced."""
_FORMS = 2
"""So many schemas that had to be put in words show that the endpoint takes none."""

_LENGTH = re.compile(r"max_?(completion|output|new)?_?tokens|(completion|output) tokens")
_BOUND = re.compile(r"at most|maximum|less than|larger?\b|exceed|too (long|high|many)|range|limit|up to|[<>≤]")
_NUMBER = re.compile(
    r"(?P<below>(?:less than|below|<) ?)?(?<![\w.-])(?P<number>\d[\d,_]{0,15})(?![\w-])(?P<end> ?\(ex)?"
)
_WINDOW = re.compile(r"context (?:length|window|size)\D{0,40}?(?P<window>\d+)")
_PROMPT = re.compile(
    r"(?P<prompt>\d+) (?:input tokens|prompt tokens|(?:tokens )?(?:in|from|of) the (?:input|messages|prompt))"
)
_SUM = re.compile(r"context limit: (?P<prompt>\d+) \+ \d+ > (?P<window>\d+)")
_LOWERED = 3
"""How often a limit is lowered at most."""


class Concessions:
    """What is left out or put otherwise for one endpoint.

    Args:
        wire: The provider's part.
        warn: Warns once per topic.
    """

    def __init__(self, wire: Wire, warn: Callable[[str, str], None]) -> None:
        self._wire, self._warn = wire, warn
        self.without: frozenset[str] = frozenset()
        self.most: int | None = None
        self._lowered = 0
        self._ease: dict[str, int] = {}
        self._in_words: Counter[str] = Counter()

    @property
    def several(self) -> bool:
        """Whether a call may ask for several samples."""
        return self._wire.samples and "n" not in self.without

    def eased(self, form: Form) -> int:
        """How much of a form the endpoint has refused; 0 for nothing."""
        return MOST_EASE if self._in_words[form.kind] >= _FORMS else self._ease.get(repr(form.value), 0)

    def call(self, account: RequestAccount, request: Request, form: Form, limit: int) -> Call:
        """A request as the endpoint takes it, as far as that is known."""
        messages = messages_of(request)
        if "system" in self.without:
            messages = _merged(messages)
        ease = self.eased(form)
        if ease:
            last = messages[-1]
            messages = (*messages[:-1], replace(last, content=f"{last.content}\n\n{describe(request.constraint)}"))
        seed = request.seed if request.temperature > 0 else None
        limit = min(limit, self.most or limit, account.most or limit)
        n = request.n if self.several else 1
        return Call(messages, limit, n, request.temperature, seed, eased(form, ease), self.without)

    def learn(self, failure: Failure, account: RequestAccount, call: Call, form: Form) -> None:
        """After a refused call: see what the refusal names, and do without it from now on."""
        refusal = failure.message.lower()
        sent = {"temperature": True, "seed": call.seed is not None, "n": call.n > 1}
        sent["system"] = any(message.role == "system" for message in call.messages)
        named = [
            name
            for name, (pattern, _) in _ALTERNATIVES.items()
            if sent[name] and name not in call.without and pattern.search(refusal)
        ]
        for name in named:
            self._leave(name, _ALTERNATIVES[name][1], failure)
        if self._learn_length(refusal, failure, account, call) or named:
            return  # "only one completion choice" is not about a choice that is to be enforced
        ease = self.eased(form)
        refused = call.form == eased(form, ease) and any(word in refusal for word in _ABOUT_FORMS)
        if refused and form.kind != "free" and ease < MOST_EASE:
            # Another call may have eased it already; a form that has no simpler one is asked for in words alone.
            ease = 1 if ease == 0 and eased(form, 1) != form else MOST_EASE
            self._ease[repr(form.value)] = ease
            self._in_words[form.kind] += ease == MOST_EASE
            what = "without its bounds" if ease < MOST_EASE else "in words only"
            self._warn(f"form {ease}", f"does not take the {form.kind}, so it is asked for {what}: {failure.message}")

    def _leave(self, name: str, instead: str, failure: Failure) -> None:
        self.without |= {name}
        self._warn(name, f"does not take this, so {instead}: {failure.message}")

    def _learn_length(self, refusal: str, failure: Failure, account: RequestAccount, call: Call) -> bool:
        """Whether a refusal is about the length limit, and leaves something to try."""
        if (beside := beside_prompt(refusal)) is not None:
            if account.most is not None or not 0 < beside < call.max_tokens:
                return False
            account.most = beside
            self._warn("window", f"has no room for a whole answer, so its limit is lowered: {failure.message}")
        elif not _LENGTH.search(refusal):
            return False
        elif _BOUND.search(refusal) and (most := largest_below(refusal, call.max_tokens)) is not None:
            if self._lowered == _LOWERED:
                return False
            if most < (self.most or call.max_tokens):
                self.most, self._lowered = most, self._lowered + 1
                self._warn("length limit", f"gives at most {most} tokens, so no more are asked for: {failure.message}")
        elif "length" in call.without or len(self._wire.length_fields) == 1:
            return False
        else:
            self._leave("length", f"the limit is sent as {self._wire.length_fields[1]}", failure)
        return True

    def capabilities(self) -> dict[str, str]:
        """What the endpoint is asked for, as declared for its provider and as learnt by now."""
        wire, left = self._wire, self.without
        most = "" if self.most is None else f", at most {self.most}"
        kinds = ", ".join(sorted(wire.native & {"schema", "regex", "choice", "grammar"}))
        words = sum(level == MOST_EASE for level in self._ease.values())
        return {
            "length limit": wire.length_fields["length" in left] + most,
            "samples": "several in a call" if self.several else "one in a call",
            "temperature": "not taken" if "temperature" in left else "sent",
            "seed": "sent" if wire.seeds and "seed" not in left else "not taken",
            "system role": "merged into the user's message" if "system" in left else "a message of its own",
            "enforced": f"{kinds}; {words} refused and put in words" if words else kinds,
        }


def messages_of(request: Request) -> tuple[Message, ...]:
    """The conversation of a request."""
    return (Message("user", request.prompt),) if isinstance(request.prompt, str) else request.prompt


def _merged(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The same conversation for a model that knows no system role."""
    system = "\n\n".join(message.content for message in messages if message.role == "system")
    others = tuple(message for message in messages if message.role != "system")
    if not system:
        return messages
    if not others or others[0].role != "user":
        return (Message("user", system), *others)
    return (replace(others[0], content=f"{system}\n\n{others[0].content}"), *others[1:])


def beside_prompt(refusal: str) -> int | None:
    """The tokens that a model's window leaves for an answer, by a refusal; None where it tells of no window."""
    window = _SUM.search(refusal) or _WINDOW.search(refusal)
    if window is None:
        return None
    prompt = _SUM.search(refusal) or _PROMPT.search(refusal)
    return int(window["window"]) - int(prompt["prompt"]) if prompt else 0


def largest_below(refusal: str, asked: int) -> int | None:
    """The limit that a refusal names: its largest number below the one that was asked for; None where there is none."""
    numbers = []
    for match in re.finditer(_NUMBER, refusal):
        digits = re.sub(r"\D", "", match["number"])
        numbers.append(int(digits) - bool(match["below"] or match["end"]))
    return max((number for number in numbers if 1 <= number < asked), default=None)
