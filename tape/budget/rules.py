"""What happens at a cap: rules of accounts, pauses, and warnings."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple, get_args
from urllib.parse import urlsplit
from urllib.request import Request as HttpRequest
from urllib.request import urlopen

from tape.budget.accounts import is_part, require_account, require_seconds, require_text
from tape.budget.resources import in_units
from tape.errors import BudgetExceededError, ConfigError, TapeError
from tape.reading import short

AtLimit = Literal["refuse", "wait", "ask"]
HTTP_SECONDS = 10.0

logger = logging.getLogger("tape.budget")


class LedgerError(TapeError):
    """A store refuses a request, cannot be reached, or is not what it should be; nothing was spent.

    Examples:
        >>> from tape.budget import Cap, open_store
        >>> open_store("file://budget.ledger").top_up(Cap("org", "usd", 50_000), "anna", "more")
        Traceback (most recent call last):
        ...
        tape.budget.rules.LedgerError: there is no cap org usd total; there is: none
    """


class UnreachableLedgerError(LedgerError):
    """The store did not answer, or has given up; whether it did what was asked may be unknown, asking again is safe.

    Examples:
        >>> from tape.budget import open_store
        >>> open_store("postgresql://tape@127.0.0.1:1/budgets")
        Traceback (most recent call last):
        ...
        tape.budget.rules.UnreachableLedgerError: the ledger postgresql://tape@127.0.0.1:1/budgets cannot be reached ...
    """


class ForbiddenError(LedgerError):
    """The store can never do what is asked; asking again changes nothing."""


class UnknownHoldError(ForbiddenError):
    """There is no hold of this id.

    Examples:
        >>> from tape.budget import open_store
        >>> open_store("file://budget.ledger").settle("call-1", {"usd": 5_000})
        Traceback (most recent call last):
        ...
        tape.budget.rules.UnknownHoldError: there is no hold call-1
    """


class PausedError(BudgetExceededError):
    """The account of a call is paused, and nobody has resumed it in time; nothing was spent.

    Its ``ledger`` is the account.

    Examples:
        >>> from tape import Ledger, Resources
        >>> from tape.budget import StorePayer, open_store
        >>> store = open_store("file://budget.ledger")
        >>> store.pause("org", "anna", "holidays", stopped=True)
        >>> Ledger(payer=StorePayer(store, "org/team")).reserve(Resources.of(usd="$0.02"))
        Traceback (most recent call last):
        ...
        tape.budget.rules.PausedError: org is stopped by anna: holidays
    """


def of_part(account: str) -> str:
    """Why a part gets no more."""
    assert is_part(account), account
    above = account.rpartition("/")[0]
    assert above, "a part is never a root"
    return f"{account} is a part, made by a hold of {above}; it gets no caps by hand but lower ones, so add to {above}"


PART_ENDED = "the part has ended"
"""Why no call begins in a part any more."""


def no_more(id: str, part: str) -> str:
    """Why a hold does not grow."""
    assert is_part(part), part
    return f"the hold {id} grows no more, since {part} has ended; it ends at what it took"


def log_late(id: str, scope: str, before: Mapping[str, int], spent: Mapping[str, int], is_debt: bool) -> None:
    """Log that the hold of a call had expired when it was answered."""
    assert min(spent.values(), default=0) >= 0, spent
    was, now = (_listed(numbers) for numbers in (before, spent))
    beyond = "; some of it is debt, since its caps had no room" if is_debt else ""
    logger.warning("the hold %s of %s had expired: booked is now %s instead of %s%s", id, scope, now, was, beyond)


def of_lacking(part: str, kind: str, amount: int) -> str:
    """What ``check`` says of a part."""
    assert is_part(part), part
    assert amount > 0, (part, kind, amount)
    return f"{part} {kind}: {in_units(kind, amount)} of the part are in no account above it"


def _listed(amounts: Mapping[str, int | None]) -> str:
    written = [f"? {kind}" if n is None else in_units(kind, n) for kind, n in amounts.items() if n != 0]
    assert all(n is None or n >= 0 for n in amounts.values()), amounts
    return ", ".join(written) or "nothing"


@dataclass(frozen=True)
class Rule:
    """What happens at the caps of an account, and when its calls are paused.

    For calls of a scope, the first rule on the way to its root counts; warnings are of the account's own caps.

    Attributes:
        account: A scope, or a label.
        at_limit: What becomes of a call that does not fit. It is refused; it waits for holds in flight; or its scope is
            paused until a person raises the cap, lets the call through once, or stops the scope.
        seconds: How long a call waits, also one whose account is paused. From 0 to 366 days.
        warn: Percents of a cap at which a warning is sent, each once in a period. A rolling cap has no levels.
        webhook: The address that gets each warning as JSON, by POST.
        same: So many equal calls in a row of one program pause its scope. 0 allows any number.
        tools: A call of one more different tool than this pauses its scope. 0 allows any number.

    Raises:
        ConfigError: A field is malformed; or a call is to wait or to ask, and ``seconds`` is 0.

    Examples:
        >>> from tape.budget import Rule, open_store
        >>> store = open_store("file://budget.ledger")
        >>> store.set_rule(Rule("org/team", "ask", seconds=600, warn=(50, 80)), "anna", "ask me")
        >>> [(rule.account, rule.at_limit) for rule in store.rules()]
        [('org/team', 'ask')]
    """

    account: str
    at_limit: AtLimit = "refuse"
    seconds: int = 0
    warn: tuple[int, ...] = ()
    webhook: str = ""
    same: int = 0
    tools: int = 0

    def __post_init__(self) -> None:
        require_account(self.account)
        if self.at_limit not in get_args(AtLimit):
            raise ConfigError(f"at a limit a call is to refuse, wait or ask, not {short(self.at_limit)}")
        require_seconds("a call waits", self.seconds, 0)
        if self.at_limit != "refuse" and not self.seconds:
            raise ConfigError(f"for how many seconds is a call of {self.account} to {self.at_limit}?")
        if not all(type(index) is int and 1 <= index <= 100 for index in self.warn):
            raise ConfigError(f"levels of warning are percent of a cap, such as 50, 80, 100, not {short(self.warn)}")
        object.__setattr__(self, "warn", tuple(sorted(set(self.warn))))
        require_text("a webhook", self.webhook)
        address = urlsplit(self.webhook)
        if self.webhook and not (
            address.scheme in ("http", "https") and address.hostname and "@" not in address.netloc
        ):
            raise ConfigError("a webhook is an address with http or https, without a name and a password")
        if not all(type(tools) is int and 0 <= tools <= 10_000 for tools in (self.same, self.tools)):
            raise ConfigError("equal calls in a row and different tools are whole numbers from 0 to 10,000")


class Wanted(NamedTuple):
    """What a call asked of a cap that was too low; names as of a :class:`~tape.budget.Cap`."""

    account: str
    resource: str
    period: str
    amount: int


class Paused(NamedTuple):
    """A call is not made since an account of it is paused.

    Attributes:
        account: A scope or a label.
        stopped: It is refused at once; else it may wait for a person.
        who: Who paused the account.
        why: For people.

    Examples:
        >>> from tape.budget import HoldRequest, open_store
        >>> store = open_store("file://budget.ledger")
        >>> store.pause("org", "anna", "holidays")
        >>> store.reserve(HoldRequest("call-1", "org/team", {"usd": 20_000}))
        Paused(account='org', stopped=False, who='anna', why='holidays')
    """

    account: str
    stopped: bool
    who: str
    why: str

    def error(self) -> PausedError:
        """As what callers of a budget raise."""
        done, hint = (
            ("stopped", "") if self.stopped else ("paused", f"; see `tape ledger pauses` and resume {self.account}")
        )
        why = f": {self.why}" if self.why else ""
        return PausedError("calls", 0, 0, 1, self.account, f"{self.account} is {done} by {self.who}{why}{hint}")


class Pause(NamedTuple):
    """An account that is paused.

    Attributes:
        account: Which one.
        stopped: Calls are refused at once.
        at: Since when.
        who: Who paused it.
        why: For people.
        wanted: What a call asked that was refused; None where it was paused for another reason.
    """

    account: str
    stopped: bool
    at: datetime
    who: str
    why: str
    wanted: Wanted | None


class Warned(NamedTuple):
    """A level that was reached.

    Attributes:
        account: Of the cap.
        resource: Of the cap.
        period: Of the cap.
        percent: The level.
        taken: Spent and held, in counts.
        amount: The cap in this period, in counts.
        webhook: Who is to be told.

    Examples:
        >>> from tape.budget import Cap, HoldRequest, Rule, open_store
        >>> store = open_store("file://budget.ledger")
        >>> store.set_cap(Cap("org", "usd", 50_000), "anna", "the first cap")
        >>> store.set_rule(Rule("org", warn=(50,)), "anna", "half of it")
        >>> store.warned = lambda warned: print(warned.account, warned.percent, warned.taken, warned.amount)
        >>> _ = store.reserve(HoldRequest("call-1", "org/team", {"usd": 30_000}))
        org 50 30000 50000
    """

    account: str
    resource: str
    period: str
    percent: int
    taken: int
    amount: int
    webhook: str


def deliver(warned: Warned) -> None:
    """Log a warning, and tell its webhook, by a thread of its own; the ledger's notes have it in any case."""
    item = warned
    assert item.percent >= 1, item
    assert item.percent <= 100, item
    is_reached = item.taken * 100 >= item.percent * item.amount
    assert is_reached or item.percent == 100, "below a level is warned of a refusal alone, which counts as 100 %"
    taken, amount = in_units(item.resource, item.taken), in_units(item.resource, item.amount)
    said = f"{item.percent} %" if is_reached else "a call was refused"
    logger.warning("%s has taken %s of %s (%s): %s", item.account, taken, amount, item.period, said)
    if item.webhook:
        threading.Thread(target=_post, args=(item,), name="tape webhook", daemon=True).start()


def tell(warned: Callable[[Warned], None], what: Warned) -> None:
    """Call who wants to know of warnings; the call that they are about is made in any case."""
    try:
        warned(what)
    except Exception:
        logger.exception("a warning was not taken")


def _post(warned: Warned) -> None:
    assert urlsplit(warned.webhook).scheme in ("http", "https"), "a rule has no other webhooks, such as files"
    told = {name: value for name, value in warned._asdict().items() if name != "webhook"}
    body, kind = json.dumps(told).encode(), {"Content-Type": "application/json"}
    try:
        with urlopen(HttpRequest(warned.webhook, body, kind), timeout=HTTP_SECONDS):  # noqa: S310
            pass
    except Exception as error:  # of whatever the other side sends; the address and the error may have a secret
        logger.warning(
            "the webhook at %s was not told of it (%s)", urlsplit(warned.webhook).hostname, type(error).__name__
        )
