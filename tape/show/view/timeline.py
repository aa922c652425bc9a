"""The timeline of an episode: what happened, in order, in the words of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tape.budget import in_units
from tape.show.schedule import schedule_record
from tape.show.text import asked_about
from tape.show.view.graphs import amounts
from tape.trace import (
    ActedEvent,
    ActionsSampledEvent,
    AnsweredEvent,
    ApprovalEvent,
    CostAboveBoundEvent,
    DescribedEvent,
    Event,
    FinishedEvent,
    GeneratedEvent,
    LedgerEvent,
    MalformedEvent,
    MismatchEvent,
    ObservedEvent,
    PlansSampledEvent,
    ScheduledEvent,
)

_TOGETHER = {"predicted", "judged", "malformed"}
"""Sorts of which several in a row are one moment."""


class Timeline:
    """Makes the moments from the events.

    Args:
        openings: For the index of an event the planning rounds that begin there.
        labels: For the key of a state what it looks like, from the plan graphs.
    """

    def __init__(self, openings: Mapping[int, Sequence[int]], labels: Mapping[str, str]) -> None:
        self._openings, self._labels = openings, labels
        self.moments: list[dict[str, Any]] = [{"sort": "start", "title": "Start"}]
        self.calls: list[dict[str, Any]] = []
        self.texts: dict[str, int] = {}
        """Texts of prompts, each with its number: most of a prompt stands in the next one too."""
        self._round: int | None = None
        self._waiting: list[int] = []

    def take(self, events: Sequence[Event]) -> None:
        """Go through an episode."""
        for index, event in enumerate(events):
            for number in self._openings.get(index, ()):
                self._open(number)
            self._tell(event)
        self.moments[-1].setdefault("calls", []).extend(self._waiting)

    def _open(self, number: int) -> None:
        """A planning round begins."""
        self._round = number
        self._add("plan", "Plan")

    def _add(self, sort: str, title: str, **more: Any) -> dict[str, Any]:
        moment: dict[str, Any] = {"sort": sort, "title": title, **more}
        if self._round is not None:
            moment["round"] = self._round
        self.moments.append(moment)
        return moment

    def _note(self, event: Event, title: str, tone: str, lines: Sequence[str]) -> None:
        """Something that is shown as lines of text."""
        last = self.moments[-1]
        if event.type in _TOGETHER and last.get("type") == event.type and last.get("round") == self._round:
            last["lines"] += lines
            return
        self._add("note", title, type=event.type, tone=tone, lines=list(lines))

    def _tell(self, event: Event) -> None:
        match event:
            case ObservedEvent():
                self._observed(event)
            case ActedEvent():
                self._acted(event)
            case MismatchEvent():
                predicted = self._labels.get(event.predicted, event.predicted)
                self.moments[-1]["mismatch"] = {"predicted": predicted, "key": event.predicted}
            case PlansSampledEvent():
                plans = [[list(plan), valid] for plan, valid in zip(event.plans, event.valid, strict=True)]
                self.moments[-1].setdefault("plans", []).append({"start": event.start, "plans": plans})
            case GeneratedEvent():
                self._generated(event)
            case FinishedEvent():
                self._add("end", "End")
            case _:
                self._tell_note(event)

    def _tell_note(self, event: Event) -> None:
        match event:
            case MalformedEvent():
                self._note(event, "Malformed answer, survived", "warn", [f"{event.role}: {event.text}"])
            case LedgerEvent(what="refused"):
                wanted = ", ".join(text for _, text in amounts(event.amounts.items()))
                self._note(event, "Refused by the budget", "warn", [f"{event.purpose} would have needed {wanted}"])
            case CostAboveBoundEvent():
                used, declared = in_units(event.kind, event.used), in_units(event.kind, event.declared)
                lines = [f"{event.purpose} used {used} where at most {declared} was declared"]
                self._note(event, "Broken declaration", "warn", lines)
            case AnsweredEvent():
                lines = [event.text, "right" if event.success else "not right"]
                self._note(event, "Final answer at the limit", "good" if event.success else "plain", lines)
            case ApprovalEvent():
                tone = "good" if event.decision == "allowed" else "bad"
                lines = [asked_about(event.action), f"asked because: {event.reason}"]
                self._note(event, f"Approval: {event.decision}", tone, lines)
            case ActionsSampledEvent():
                scores = [
                    f"{name} ×{event.actions.count(name)}: "
                    + ("predicted to be invalid" if score is None else f"score {score:g}")
                    for name, score in event.scores.items()
                ]
                lines = [f"best: {event.chosen}", *scores]
                self._note(event, f"{len(event.actions)} actions sampled", "plain", lines)
            case ScheduledEvent():
                title, lines = "Calls made" if event.done else "Calls planned", event.description().splitlines()[:1]
                record = schedule_record(event.calls)
                self._add("note", title, type=event.type, tone="plain", lines=lines, schedule=record)
            case DescribedEvent():
                self._note(event, *_described(event))
            case _:
                pass  # selections and graphs are in the rounds, amounts in the budgets

    def _observed(self, event: ObservedEvent) -> None:
        """What is seen belongs to what was done before it, or to the start."""
        seen = {"picture": event.picture, "key": event.key, "left": amounts(event.remaining.items())}
        last = self.moments[-1]
        if last["sort"] in ("step", "start") and "key" not in last:
            last |= seen
        else:
            self._add("note", "Observed", type=event.type, tone="plain", lines=[], **seen)

    def _acted(self, event: ActedEvent) -> None:
        moment = self._add("step", event.action, step=event.step, cost=amounts(event.cost.items()))
        if event.planned not in (None, event.action):
            moment["planned"] = event.planned
        if event.text:
            moment["thought"] = event.text
        if self._waiting:
            moment["calls"], self._waiting = self._waiting, []

    def _generated(self, event: GeneratedEvent) -> None:
        call: dict[str, Any] = {
            "role": event.role,
            "prompt": [[part.role, self.texts.setdefault(part.content, len(self.texts))] for part in event.prompt],
            "texts": list(event.texts),
            "tokens": [event.prompt_tokens, event.completion_tokens],
        }
        if event.weights is not None:
            call["weights"] = list(event.weights)
        self.calls.append(call)
        number = len(self.calls) - 1
        if event.role == "act":  # the action is shown after it
            self._waiting.append(number)
        else:
            self.moments[-1].setdefault("calls", []).append(number)


def _described(event: DescribedEvent) -> tuple[str, str, list[str]]:
    """Title, tone and lines of an event that describes itself; those of verification and of SDP get shorter words.

    They go by the names of their types, so that neither AEC nor SDP is loaded for it.
    """
    fields = event.model_dump()
    lines = [line.strip() for line in event.description().splitlines()]
    match event.type:
        case "predicted":
            believed = {None: "", True: ", believed true", False: ", believed false"}[fields["simulated"]]
            return (
                "Prediction",
                "plain",
                [f"{fields['predicate']}: {fields['mu']:.2f} ± {fields['sigma']:.2f}{believed}"],
            )
        case "judged":
            return "Came to light", "plain", [lines[0].partition(": ")[2]]
        case "queried":
            value = {None: "unknown", True: "true", False: "false"}[fields["value"]]
            revealed = [f"revealed: {fact}" for fact in fields["revealed"]]
            return "Query", "plain", [f"{fields['predicate']}: {value}", f"by {_listed(fields['actions'])}", *revealed]
        case "verified":
            title, tone = ("Path accepted", "good") if fields["accepted"] else ("Path refused", "bad")
            reason = [fields["reason"]] if fields["reason"] else []
            return title, tone, [_listed(fields["actions"]), *reason, *fields["witnesses"]]
        case "committed":
            evidence = [f"{fact}: {text}" for fact, text in fields["evidence"].items()]
            title = "Commitment, certified" if fields["certified"] else "Commitment on beliefs"
            return title, "good", [_listed(fields["actions"]), *evidence]
        case "refused":
            return "Nothing can be committed to", "bad", [fields["reason"]]
        case "rule_disabled":
            return "Rule disabled", "warn", [fields["rule"], *fields["counterexamples"]]
        case "sdp_chain":
            return f"Subgoals: {fields['reason']}", "plain", [target["text"] for target in fields["targets"]]
        case "sdp_validated":
            return ("Subgoal certified", "good", lines) if fields["k"] else ("Subgoal not certified", "warn", lines)
        case "sdp_concluded":
            return "Subgoals at the end", "plain", lines
        case "forecast":
            return "Whether the rest fits", "bad" if fields["probability"] == 0 else "plain", lines
        case "infeasible":
            return "No path fits the budget", "bad", lines
    return event.type.replace("_", " ").capitalize(), "plain", lines


def _listed(actions: Sequence[str]) -> str:
    return " › ".join(actions) or "nothing"
