"""For what time a cap is: for ever, for an hour, a day, a week or a month of a time zone, or for the last seconds."""

from __future__ import annotations

import calendar
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tape.errors import ConfigError
from tape.reading import short

UNITS: Mapping[str, str] = {
    "total": "for ever",
    "hour": "an hour, begun on the hour in UTC",
    "day": "a day of a time zone, such as `day@Europe/Berlin`; `day` alone is of UTC",
    "week": "a week of a time zone, begun on Monday, such as `week@Europe/Berlin`",
    "month": "a month of a time zone; `month@UTC#15` begins on the 15th, `#31` on the last day of a shorter month",
    "rolling": "the last seconds, such as `rolling:3600`; at least 60 seconds, and less than a billion",
}
"""The periods of caps, and what each means."""
BUCKETS = 60
"""Parts of a rolling period. What was held leaves it with the part in which it began, so never too early."""

_FORM = re.compile(r"(total|hour|day|week|month|rolling)(?::(\d{1,9}))?(?:@([A-Za-z0-9_+/-]{1,60}))?(?:#(\d{1,2}))?")
_DAYS = {"day": 2, "week": 8, "month": 32}
"""No period has as many, also where clocks are set back, or a day is lived twice."""

assert all(_FORM.fullmatch(unit) for unit in UNITS), "each unit can be written"
assert _DAYS.keys() == {*UNITS} - {"total", "hour", "rolling"}, "each period that begins with a day has an end"


@dataclass(frozen=True)
class Period:
    """What a cap is for; as text ``total``, ``day@Europe/Berlin``, ``month@UTC#15`` or ``rolling:3600``.

    Attributes:
        unit: One of :data:`UNITS`.
        zone: The time zone in which days begin.
        day: Of a month, the day on which it is billed; the last one where the month has no such day.
        seconds: Of a rolling period.

    Raises:
        ConfigError: The unit, the time zone, the day or the seconds are malformed.

    Examples:
        >>> from datetime import UTC, datetime
        >>> from tape.budget import Period
        >>> month = Period.parse("month@UTC#15")
        >>> str(month.begun(datetime(2026, 3, 1, tzinfo=UTC)))
        '2026-02-15 00:00:00+00:00'
    """

    unit: str = "total"
    zone: str = "UTC"
    day: int = 1
    seconds: int = 0

    def __post_init__(self) -> None:
        try:
            ZoneInfo(self.zone)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise ConfigError(f"{short(self.zone)} is no time zone; write one such as Europe/Berlin") from None
        if self.unit not in UNITS:
            raise ConfigError(f"{short(self.unit)} is no period; there is {', '.join(UNITS)}")
        if not 1 <= self.day <= 31:
            raise ConfigError(f"a billing day is 1 to 31, not {self.day}")
        if (self.unit == "rolling") != (self.seconds > 0):
            raise ConfigError("a rolling period has seconds, for instance rolling:3600, and no other one has")
        if self.unit == "rolling" and not BUCKETS <= self.seconds < 10**9:
            raise ConfigError(f"a rolling period is at least {BUCKETS} seconds, and less than a billion")
        # What does not matter is the same for all, so that equal periods are equal.
        if self.unit not in ("day", "week", "month"):
            object.__setattr__(self, "zone", "UTC")
        if self.unit != "month":
            object.__setattr__(self, "day", 1)
        assert (self.bucket > 0) == (self.unit == "rolling"), "only a rolling period has parts"

    @classmethod
    def parse(cls, text: str) -> Period:
        """Read what ``str`` writes.

        Raises:
            ConfigError: It is malformed.
        """
        match = _FORM.fullmatch(text)
        if match is None:
            raise ConfigError(
                f"{short(text)} is no period; write total, hour, day@Europe/Berlin, week, month#15 or rolling:3600"
            )
        unit, seconds, zone, day = match.groups()
        period = cls(unit, zone or "UTC", int(day or 1), int(seconds or 0))
        assert _FORM.fullmatch(str(period)), "what is written can be read again"
        return period

    def __str__(self) -> str:
        seconds = f":{self.seconds}" if self.unit == "rolling" else ""
        zone = f"@{self.zone}" if self.unit in ("day", "week", "month") else ""
        return f"{self.unit}{seconds}{zone}" + (f"#{self.day}" if self.unit == "month" else "")

    def begun(self, at: datetime) -> datetime | None:
        """When the period began that a moment belongs to; None for one without a beginning."""
        assert at.tzinfo is not None, "a moment has a time zone"
        if self.unit == "total":
            return None
        if self.unit in ("hour", "rolling"):
            size = 3600 if self.unit == "hour" else self.bucket
            start = datetime.fromtimestamp(at.timestamp() // size * size, UTC)
            assert start <= at, (self, at)
            assert at - start < timedelta(seconds=size), "the next one has not begun"
            return start
        local = at.astimezone(ZoneInfo(self.zone))
        day = local.date()
        if self.unit == "week":
            day -= timedelta(days=day.weekday())
        if self.unit == "month":
            first = day.replace(day=1)
            if day.day < _billed(first.year, first.month, self.day):
                first = (first - timedelta(days=1)).replace(day=1)
            day = first.replace(day=_billed(first.year, first.month, self.day))
        begun = datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(self.zone)).astimezone(UTC)
        assert begun <= at, (self, at)
        assert at - begun < timedelta(days=_DAYS[self.unit]), "the next one has not begun"
        return begun

    @property
    def bucket(self) -> int:
        """Seconds of a part of a rolling period."""
        index = -(-self.seconds // BUCKETS)
        assert index * BUCKETS >= self.seconds, "nothing leaves too early"
        assert index * BUCKETS < self.seconds + BUCKETS, "no part is longer than it has to be"
        return index

    def earliest(self, at: datetime) -> datetime | None:
        """The beginning of the first part that counts now; only a rolling period has several."""
        begun = self.begun(at)
        if begun is None or self.unit != "rolling":
            return begun
        assert begun <= at, (self, at)
        first = begun - timedelta(seconds=self.bucket * BUCKETS)
        assert at - first >= timedelta(seconds=self.seconds), "nothing leaves too early"
        return first


TOTAL = Period()


def _billed(year: int, month: int, day: int) -> int:
    return min(day, calendar.monthrange(year, month)[1])
