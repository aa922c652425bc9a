"""What an endpoint does not take: learnt from its refusals, each with one warning, and put otherwise from then on."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from tape.lm.base import Message, Request, Usage
from tape.lm.hosted.forms import MOST_EASE, Form, describe, eased
from tape.lm.hosted.wire import HttpCall, HttpFailure, Wire


class RequestAccount:
    """What the calls of one request used, and whether another one may be made.

    :attr:`most` is the longest answer that the model's window has room for beside this prompt, once a refusal said so.
    The payer's first reservation covers one call that may be billed; each further one is asked for.
    """

    def __init__(self, request: Request) -> None:
        self.request = request
        self.usage = Usage(0, 0, calls=0, source="reported")
        self.last = ""
        self.most: int | None = None
        self._covered = True

    def may_call(self, request: Request) -> bool:
        """Whether one more call is paid for; asks the payer where it is not."""
        if not self._covered:
            again = self.request.again
            self._covered = again is None or again(replace(request, again=None))
        return self._covered

    def pay(self, usage: Usage | None) -> None:
        """Note what a call used or may have used; after one that cost nothing another one is covered as before."""
        if usage is not None:
            self.usage += usage
            self._covered = False


ABOUT_THE_REQUEST = (400, 422, 500, 501)
"""Statuses that may say what a request should not have held. Servers of one's own say it by 500 too."""

_SYSTEM = r"system (role|message|prompt|instruction)|role.{0,40}\bsystem|['\"`]system['\"`]|\bsystem: |"
_SYSTEM += r"developer instruction|roles must alternate|only user and assistant"
_ALTERNATIVES = (
    ("temperature", r"temperature", "no temperature is sent"),
    ("seed", r"seed", "no seed is sent"),
    ("n", r"(?<![\w\\/-])n(?![\w-])|(one|single|multiple) (completion|choice|sample)", "each sample is a call"),
    ("system", _SYSTEM, "what the system says stands at the beginning of the user's first message"),
)
"""What a call can do without: what a refusal of it looks like, and what is done instead."""

_ABOUT_FORMS = ("schema", "response_format", "structured", "output_config", "regex", "grammar", "choice", "pattern")
"""Words in the refusal of a request that is refused for what it wants enforced."""
_FORMS, _LOWERED = 2, 3
"""So many schemas that had to be put in words show that none is taken; so often a limit is lowered at most."""

_LENGTH = r"max_?(completion|output|new)?_?tokens|(completion|output) tokens"
_BOUND = r"at most|maximum|less than|larger?\b|exceed|too (long|high|many)|range|limit|up to|[<>≤]"
_NUMBER = r"(?P<below>(?:less than|below|<) ?)?(?<![\w.-])(?P<number>\d[\d,_]{0,15})(?![\w-])(?P<end> ?\(ex)?"
_WINDOW = r"context (?:length|window|size)\D{0,40}?(\d+)"
_PROMPT = r"(\d+) (?:input tokens|prompt tokens|(?:tokens )?(?:in|from|of) (?:the|your) (?:input|messages|prompt))"


class Concessions:
    """What is left out or put otherwise for one endpoint; ``warn`` warns once per topic."""

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

    def call(self, account: RequestAccount, request: Request, form: Form, limit: int) -> HttpCall:
        """A request as the endpoint takes it, as far as that is known."""
        messages, ease = messages_of(request), self.eased(form)
        if "system" in self.without:
            messages = _merged(messages)
        if ease:
            last = messages[-1]
            messages = (*messages[:-1], replace(last, content=f"{last.content}\n\n{describe(request.constraint)}"))
        seed = request.seed if request.temperature > 0 else None
        limit, n = min(limit, self.most or limit, account.most or limit), request.n if self.several else 1
        return HttpCall(messages, limit, n, request.temperature, seed, eased(form, ease), self.without)

    def learn(self, failure: HttpFailure, account: RequestAccount, call: HttpCall, form: Form) -> None:
        """After a refused call: see what the refusal names, and do without it from now on."""
        refusal, learnt = failure.message.lower(), self._learn_length(failure, account, call)
        system = any(message.role == "system" for message in call.messages)
        sent = {"temperature": True, "seed": call.seed is not None, "n": call.n > 1, "system": system}
        for name, pattern, instead in _ALTERNATIVES:
            if sent[name] and name not in call.without and re.search(pattern, refusal):
                learnt = self._leave(name, instead, failure)
        ease = self.eased(form)
        # "Only one completion choice" is not about a choice that is to be enforced.
        refused = not learnt and call.form == eased(form, ease) and any(word in refusal for word in _ABOUT_FORMS)
        if refused and form.kind != "free" and ease < MOST_EASE:
            # Another call may have eased it already; a form that has no simpler one is asked for in words alone.
            ease = 1 if ease == 0 and eased(form, 1) != form else MOST_EASE
            self._ease[repr(form.value)] = ease
            self._in_words[form.kind] += ease == MOST_EASE
            what = "without its bounds" if ease < MOST_EASE else "in words only"
            self._warn(f"form {ease}", f"does not take the {form.kind}, so it is asked for {what}: {failure.message}")

    def _leave(self, name: str, instead: str, failure: HttpFailure) -> bool:
        self.without |= {name}
        self._warn(name, f"refuses a call, so {instead}: {failure.message}")
        return True

    def _learn_length(self, failure: HttpFailure, account: RequestAccount, call: HttpCall) -> bool:
        """Whether a refusal is about the length limit, and leaves something to try."""
        refusal, asked = failure.message.lower(), call.max_tokens
        room, most = room_beside(refusal), largest_below(refusal, asked) if re.search(_BOUND, refusal) else None
        if room is not None:
            if account.most is not None or not 0 < room < asked:
                return False
            account.most = room
            self._warn("room", f"has no room for a whole answer, so its limit is lowered: {failure.message}")
        elif not re.search(_LENGTH, refusal) or (most is not None and self._lowered == _LOWERED):
            return False
        elif most is None:
            fields = self._wire.length_fields
            more = "length" not in call.without and len(fields) > 1
            return more and self._leave("length", f"the limit is sent as {fields[1]}", failure)
        elif most < (self.most or asked):
            self.most, self._lowered = most, self._lowered + 1
            self._warn("length limit", f"gives at most {most} tokens, so no more are asked for: {failure.message}")
        return True

    def capabilities(self) -> dict[str, str]:
        """What the endpoint is asked for, as declared for its provider and as learnt by now."""
        wire, left, kinds = self._wire, self.without, sorted(self._wire.native - {"compact", "gbnf"})
        words = sum(level == MOST_EASE for level in self._ease.values())
        return {
            "length limit": wire.length_fields["length" in left] + (f", at most {self.most}" if self.most else ""),
            "samples": "several in a call" if self.several else "one in a call",
            "temperature": "not taken" if "temperature" in left else "sent",
            "seed": ("" if "seed" in left else getattr(wire, "seed_field", "")) or "not taken",
            "system role": "merged into the user's message" if "system" in left else "a message of its own",
            "enforced": ", ".join(kinds) + (f", but {words} in words" if words else ""),
        }


def messages_of(request: Request) -> tuple[Message, ...]:
    """The conversation of a request."""
    return (Message("user", request.prompt),) if isinstance(request.prompt, str) else request.prompt


def _merged(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The same conversation for a model that knows no system role."""
    system = [message.content for message in messages if message.role == "system"]
    others = [message for message in messages if message.role != "system"]
    if others and others[0].role == "user":
        system.append(others.pop(0).content)
    return (Message("user", "\n\n".join(system)), *others) if system else messages


def room_beside(refusal: str) -> int | None:
    """The tokens that a model's window leaves beside a prompt, by a refusal; None where it tells of no window."""
    window, prompt = re.search(_WINDOW, refusal), re.search(_PROMPT, refusal)
    if window is None:
        return None
    return int(window[1]) - int(prompt[1]) if prompt else 0


def largest_below(refusal: str, asked: int) -> int | None:
    """The limit that a refusal names: its largest number below the one that was asked for; None where there is none."""
    named = [(re.sub(r"\D", "", m["number"]), m["below"] or m["end"]) for m in re.finditer(_NUMBER, refusal)]
    numbers = [int(digits) - bool(exclusive) for digits, exclusive in named]
    return max((number for number in numbers if 1 <= number < asked), default=None)
