"""An episode as a sample of an Inspect AI log: messages, events, scores; see :mod:`tape.adapters.inspect_log`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tape.adapters.operations import ORDER, FinishedEpisode, Operation, Operations
from tape.adapters.otel import FAULTS, action_of, tool_of
from tape.budget import amount_of, in_units
from tape.tools.calls import parse
from tape.tools.errors import InvalidCallError
from tape.trace import (
    ActedEvent,
    ApprovalEvent,
    DescribedEvent,
    FinishedEvent,
    GeneratedEvent,
    GraphFoldedEvent,
    ObservedEvent,
    PathSelectedEvent,
    PlansSampledEvent,
    StartedEvent,
)

if TYPE_CHECKING:
    from inspect_ai.log import EvalSample, EvalSampleLimit
    from inspect_ai.model import ModelUsage
    from inspect_ai.scorer import Score

LIMITS = {"usd": "cost", "tokens": "token", "wall_seconds": "time", "steps": "turn"}
"""What Inspect calls a limit on a resource; others are ``custom``."""
SCORER = "success"
"""The environment's own verdict."""


class SampleMaker:
    """Makes a sample of an episode."""

    def __init__(self, episode: FinishedEpisode) -> None:
        self._episode = episode
        self._model = model_of(episode)
        self._events: list[Any] = []
        self._messages: list[Any] = []
        self._ids: dict[Operation, str] = {}

    def sample(self) -> EvalSample:
        """The sample."""
        from inspect_ai.dataset import Sample
        from inspect_ai.event import SampleInitEvent
        from inspect_ai.log import EvalError, EvalSample
        from inspect_ai.model import ChatMessageUser, ModelOutput

        episode, result = self._episode, result_of(self._episode)
        seen = next((event.picture for event in episode.events if isinstance(event, ObservedEvent)), "")
        asked = episode.started.task or episode.task
        asked += f"\n\n{seen}" if seen else ""
        self._messages.append(ChatMessageUser(content=asked))
        self._events.append(SampleInitEvent(sample=Sample(input=asked, id=episode.task), **self._at(episode.times[0])))
        operations = Operations(self._begun, self._ended)
        for moment, event in zip(episode.times, episode.events, strict=True):
            operations.take(moment, event)
        operations.close()
        scores = scores_of(result)
        self._score(scores)
        answer = result.get("answer")
        fault = result.get("end_state") in FAULTS or not result
        detail = str(result.get("detail") or result.get("end_state") or episode.note)
        lasted = (episode.times[-1] - episode.times[0]) / 1e9
        return EvalSample(
            id=episode.task,
            epoch=int(episode.line.get("repeat", 0)) + 1,
            uuid=f"tape-{episode.key}",
            input=asked,
            target="",
            messages=self._messages,
            output=ModelOutput.from_content(self._model, "" if answer is None else _text(answer)),
            scores=scores,
            events=self._events,
            metadata={"tape.episode": episode.key, "tape.time": ORDER, **_about(result)},
            model_usage={self._model: usage_of(result)},
            started_at=moment_of(episode.times[0]),
            completed_at=moment_of(episode.times[-1]),
            total_time=lasted,
            error=EvalError(message=detail, traceback="", traceback_ansi="") if fault else None,
            limit=limit_of(result),
        )

    def _at(self, moment: int, within: Operation | None = None) -> dict[str, Any]:
        """The fields that every event has."""
        since = (moment - self._episode.times[0]) / 1e9
        return {
            "timestamp": moment_of(moment),
            "working_start": since,
            "span_id": self._ids.get(within) if within else None,
        }

    def _begun(self, operation: Operation) -> None:
        if operation.kind in ("agent", "plan"):
            from inspect_ai.event import SpanBeginEvent

            number = len(self._ids)
            self._ids[operation] = f"{self._episode.key}-{number}"
            parent = self._ids[operation.parent] if operation.parent else None
            name = str(self._episode.started.config.get("agent") or "tape") if parent is None else "plan"
            begin = SpanBeginEvent(
                id=self._ids[operation], parent_id=parent, type="solver" if parent is None else "plan", name=name,
                **self._at(operation.start) | {"span_id": self._ids[operation]},
            )  # fmt: skip
            self._events.append(begin)

    def _ended(self, operation: Operation) -> None:
        from inspect_ai.event import SpanEndEvent

        match operation.kind:
            case "model":
                self._ask(operation)
            case "tool":
                self._act(operation)
            case "agent" | "plan":
                if operation.kind == "plan":
                    self._plan(operation)
                self._inform(operation)
                self._events.append(SpanEndEvent(id=self._ids[operation], **self._at(operation.end, operation)))

    def _ask(self, operation: Operation) -> None:
        from inspect_ai.event import ModelEvent
        from inspect_ai.model import ChatCompletionChoice, ChatMessageAssistant, GenerateConfig, ModelOutput, ModelUsage

        generated = operation.last(GeneratedEvent)
        assert isinstance(generated, GeneratedEvent)
        spent = ModelUsage(
            input_tokens=generated.prompt_tokens,
            output_tokens=generated.completion_tokens,
            total_tokens=generated.prompt_tokens + generated.completion_tokens,
        )
        weights = None if generated.weights is None else dict(zip(generated.texts, generated.weights, strict=True))
        texts = generated.texts if weights is None else (max(weights, key=lambda text: weights[text]),)
        choices = [
            ChatCompletionChoice(message=ChatMessageAssistant(content=text, source="generate", model=self._model))
            for text in texts
        ]
        asked = ModelEvent(
            model=self._model,
            role=generated.role or None,
            input=[_message(part.role, part.content) for part in generated.prompt],
            tools=[],
            tool_choice="none",
            config=GenerateConfig(num_choices=len(texts) if len(texts) > 1 else None),
            output=ModelOutput(model=self._model, choices=choices, usage=spent),
            error=None if generated.texts else "the model did not answer",
            completed=moment_of(operation.end),
            metadata={"tape.role": generated.role} | ({"tape.weights": weights} if weights else {}),
            **self._at(operation.start, operation.parent),
        )
        self._events.append(asked)

    def _plan(self, operation: Operation) -> None:
        """The selected path: an event with its figures, and a message."""
        from inspect_ai.event import InfoEvent
        from inspect_ai.model import ChatMessageAssistant

        sampled = [event for _, event in operation.events if isinstance(event, PlansSampledEvent)]
        data: dict[str, Any] = {"plans": [" ; ".join(plan) for event in sampled for plan in event.plans]}
        folded, chosen = operation.last(GraphFoldedEvent), operation.last(PathSelectedEvent)
        if isinstance(folded, GraphFoldedEvent):
            graph = folded.graph
            data["graph"] = {"nodes": len(graph.get("nodes", [])), "edges": len(graph.get("links", []))}
        if isinstance(chosen, PathSelectedEvent):
            data["path"] = chosen.actions
            data |= {name: getattr(chosen, name) for name in ("selector", "status", "partial", "objective", "bound")}
            data["cost"] = _in_units(chosen.consumption)
            data["left"] = _in_units(chosen.problem.get("budget") or {})
            data["seconds"] = chosen.seconds
            if chosen.actions:
                cost = ", ".join(_in_units(chosen.consumption).values())
                text = f"Plan ({chosen.status}{f', at most {cost}' if cost else ''}):\n" + "\n".join(chosen.actions)
                about = {"tape": "the path that the selector chose; no model wrote this message"}
                self._messages.append(ChatMessageAssistant(content=text, model=chosen.selector, metadata=about))
        self._events.append(InfoEvent(source="tape.plan", data=_json(data), **self._at(operation.end, operation)))

    def _act(self, operation: Operation) -> None:
        from inspect_ai.event import ToolEvent
        from inspect_ai.model import ChatMessageAssistant, ChatMessageTool
        from inspect_ai.tool import ToolCall, ToolCallError

        acted, observed = operation.last(ActedEvent), operation.last(ObservedEvent)
        action = action_of(operation)
        name, arguments = tool_of(action), _arguments(action)
        number = f"step-{sum(isinstance(event, ToolEvent) for event in self._events) + 1}"
        error = ToolCallError("unknown", "the action failed, or was cut off") if operation.failed else None
        seen = observed.picture if isinstance(observed, ObservedEvent) else ""
        text = acted.text if isinstance(acted, ActedEvent) else ""
        call = ToolCall(id=number, function=name, arguments=arguments)
        answer = ChatMessageTool(content=seen, tool_call_id=number, function=name, error=error)
        self._messages += [ChatMessageAssistant(content=text, tool_calls=[call], model=self._model), answer]
        cost = _in_units(acted.cost) if isinstance(acted, ActedEvent) else {}
        left = _in_units(observed.remaining) if isinstance(observed, ObservedEvent) else {}
        made = ToolEvent(
            id=number,
            function=name,
            arguments=arguments,
            result=seen,
            error=error,
            failed=operation.failed or None,
            completed=moment_of(operation.end),
            message_id=answer.id,
            metadata={"tape.action": action, "tape.cost": cost, "tape.left": left},
            **self._at(operation.start, operation.parent),
        )
        self._events.append(made)

    def _inform(self, operation: Operation) -> None:
        """What else happened in an agent or a plan, by the events that have words of their own or few fields."""
        from inspect_ai.event import InfoEvent

        shown = (StartedEvent, ObservedEvent, GraphFoldedEvent, PathSelectedEvent, PlansSampledEvent, FinishedEvent)
        for moment, event in operation.events:
            if isinstance(event, shown):
                continue
            if isinstance(event, ApprovalEvent):
                self._events.append(_asked(event, self._at(moment, operation)))
                continue
            data = event.description() if isinstance(event, DescribedEvent) else event.model_dump(mode="json")
            source = f"tape.{event.type}"
            self._events.append(InfoEvent(source=source, data=_json(data), **self._at(moment, operation)))

    def _score(self, scores: Mapping[str, Score]) -> None:
        from inspect_ai.event import ScoreEvent

        for name, score in scores.items():
            self._events.append(ScoreEvent(score=score, scorer=name, **self._at(self._episode.times[-1])))


def _asked(event: ApprovalEvent, at: Mapping[str, Any]) -> Any:
    """What was decided about an action before it was executed, as Inspect shows it."""
    from inspect_ai.event import ApprovalEvent as Asked
    from inspect_ai.tool import ToolCall

    name, arguments = tool_of(event.action), _arguments(event.action)
    call = ToolCall(id=f"approval-{event.step + 1}", function=name, arguments=arguments)
    decision = {"allowed": "approve", "refused": "reject", "stopped": "terminate"}[event.decision]
    said = f"{event.decision}: {event.action} (asked because: {event.reason})"
    return Asked(message=said, call=call, approver="approval", decision=decision, explanation=said, **at)


def scores_of(result: Mapping[str, Any]) -> dict[str, Score]:
    """The environment's verdict, ``C`` or ``I``, and its measures; none of an episode that was cut off."""
    from inspect_ai.scorer import CORRECT, INCORRECT, Score

    if not result:
        return {}
    answer = result.get("answer")
    detail = str(result.get("detail") or result.get("end_state", ""))
    mapping = {
        SCORER: Score(
            value=CORRECT if result.get("success") else INCORRECT,
            answer=None if answer is None else _text(answer),
            explanation=detail,
            metadata=_about(result),
        )
    }
    measured = result.get("measures", {}).items()
    return mapping | {name: Score(value=float(value)) for name, value in measured if value is not None}


def limit_of(result: Mapping[str, Any]) -> EvalSampleLimit | None:
    """The cap that ended an episode, in units."""
    from inspect_ai.log import EvalSampleLimit

    before, _, kind = str(result.get("end_state", "")).partition(":")
    if before != "budget" or kind not in result.get("budget", {}):
        return None
    cap = float(amount_of(kind, result["budget"][kind]))
    return EvalSampleLimit(type=LIMITS.get(kind, "custom"), limit=cap, reason=str(result.get("detail", "")))


def model_of(episode: FinishedEpisode) -> str:
    """The model as Inspect names models: ``bundled/mini``."""
    return str(episode.started.config.get("model") or "none").replace(":", "/", 1)


def result_of(episode: FinishedEpisode) -> dict[str, Any]:
    """Its result; empty of an episode that was cut off."""
    last = episode.events[-1]
    return dict(last.result) if isinstance(last, FinishedEvent) else {}


def usage_of(result: Mapping[str, Any]) -> ModelUsage:
    """The tokens of all its requests."""
    from inspect_ai.model import ModelUsage

    asked, written = (sum(result.get(name, {}).values()) for name in ("prompt_tokens", "completion_tokens"))
    return ModelUsage(input_tokens=asked, output_tokens=written, total_tokens=asked + written)


def _about(result: Mapping[str, Any]) -> dict[str, Any]:
    names = ("end_state", "steps", "replans", "mismatches", "malformed", "budget_violations")
    held = {f"tape.{name}": result[name] for name in names if name in result}
    return {**held, "tape.used": _in_units(result.get("used", {})), "tape.budget": _in_units(result.get("budget", {}))}


def _in_units(counts: Mapping[str, int | None]) -> dict[str, str]:
    return {kind: "unknown" if count is None else in_units(kind, count) for kind, count in counts.items()}


def _arguments(action: str) -> dict[str, Any]:
    """The arguments of a call; of an action that is none, the action."""
    try:
        call = parse(action)
    except InvalidCallError:
        return {"action": action}
    return {name: value if value.startswith("#") else json.loads(value) for name, value in call.args}


def _message(role: str, content: str) -> Any:
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser

    kinds = {"system": ChatMessageSystem, "assistant": ChatMessageAssistant}
    return kinds.get(role, ChatMessageUser)(content=content)


def moment_of(nanoseconds: int) -> datetime:
    """A time in nanoseconds since 1970."""
    return datetime.fromtimestamp(nanoseconds / 1e9, UTC)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _json(value: Any) -> Any:
    """A value as JSON: what is none of it becomes text."""
    return json.loads(json.dumps(value, default=str))
