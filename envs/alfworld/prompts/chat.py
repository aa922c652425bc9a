"""The ``chat`` prompt format: ALFWorld for general instruction-tuned models, instructions plus a JSON schema."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

from envs.alfworld import rules
from envs.alfworld.commands import AlfworldCommand, read_command
from envs.alfworld.domain import AlfworldDomain
from envs.alfworld.game.goal import Goal
from envs.alfworld.game.kinds import AFTER, kind_of
from envs.alfworld.prompts import chat_schema
from envs.alfworld.prompts.chat_schema import MOST_PLANNED
from envs.alfworld.prompts.chat_text import messages, near
from envs.alfworld.prompts.placing import (
    PlaceBeliefs,
    free_choices,
    hopeless,
    placed,
    score_of_steps,
    switched_on,
    taken,
    was_tried,
    with_place,
)
from envs.alfworld.state import BARE, KEPT, NEW, OPEN, SEARCHED, SHUT, Knowledge, Layout, as_state
from tape.errors import InvalidOutputError
from tape.lm.base import JsonSchema, Message, OneOf, Request
from tape.protocols import Action, Plan, State
from tape.protocols.answers import fields_of, items_of
from tape.protocols.predicates import Predicate
from tape.protocols.prompt_format import Examples, asked, states_along
from tape.reading import parsed

MOST_COUNTED = 12
"""Most commands left that a score tells apart."""

_SCORES = {str(n): score_of_steps(n) for n in range(MOST_COUNTED + 1)}
_YES, _NO = "yes", "no"
# Some decoders put every value of a list on a line of its own, indented, hence the room beside a command.
_TOKENS_A_COMMAND, _TOKENS_A_RESULT, _REST = 26, 40, 40
_ACT_TOKENS = chat_schema.LONGEST_THOUGHT + _TOKENS_A_COMMAND + _REST


class AlfworldChatFormat(PlaceBeliefs):
    """Chat messages: implements :class:`tape.protocols.prompt_format.PromptFormat` and the protocols of beliefs.

    Objects may be named or called by their kind; commands are read by kind, as predicates speak of them, and the
    environment finds the object that is meant.

    Args:
        domain: The game.
        examples: Worked examples by role, questions and answers; by default those of :func:`worked`.
    """

    def __init__(self, domain: AlfworldDomain, examples: Examples | None = None) -> None:
        self._domain, self._layout = domain, domain.layout
        self._examples = worked() if examples is None else examples

    def _messages(
        self, role: str, state: Knowledge, ask: str, remaining: Mapping[str, int] | None = None
    ) -> tuple[Message, ...]:
        return messages(state, ask, remaining, self._examples.get(role, ()))

    def _kinds(self, state: Knowledge) -> tuple[str, ...]:
        """The kinds of objects that commands may speak of, sorted."""
        seen = (kind_of(name) for name, _ in state.inside)
        return tuple(sorted({*self._layout.goal.kinds, *seen, *([kind_of(state.holding)] if state.holding else [])}))

    # --- plans ------------------------------------------------------------------------------

    def plan_request(self, state: State, remaining: Mapping[str, int]) -> Request:
        """Ask for a thought and a JSON list of commands."""
        ask = (
            "Write all commands from here to the end of the task, as few as possible and within the steps left. Where "
            "nobody has seen what you need, plan to find it in the likeliest place not looked into. Think first, in "
            "one sentence: where is the object, what has to be done to it, where does it go? "
            'Answer as JSON with the fields "thought" and "actions", a list of commands.'
        )
        here, most = as_state(state), max(1, min(remaining.get("steps", MOST_PLANNED), MOST_PLANNED))
        schema = chat_schema.plan_model(self._layout.receptacles, self._kinds(here))
        tokens = chat_schema.LONGEST_THOUGHT + _REST + _TOKENS_A_COMMAND * most
        return Request(self._messages("plan", here, ask, remaining), tokens, constraint=JsonSchema(schema), role="plan")

    def read_plan(self, state: State, text: str) -> Plan:
        """The commands up to the first that cannot be read; going to where one is already is left out."""
        here = as_state(state)
        written, whole = items_of(text, "actions")
        whole = whole and set(fields_of(text)[0]) <= {"thought", "actions"} and len(written) <= MOST_PLANNED
        commands: list[AlfworldCommand] = []
        for action in written[:MOST_PLANNED]:
            try:
                commands.append(self._command(here, action if isinstance(action, str) else ""))
            except InvalidOutputError:
                whole = False
                break
        return Plan(tuple(c.text for c in placed(here, commands)), valid=whole and bool(commands))

    def _command(self, state: Knowledge, text: str) -> AlfworldCommand:
        """The command that a text is, on things of this house, by kind."""
        command = read_command(text)
        if command is None:
            raise InvalidOutputError(f"expected a command, got {text[:80]!r}")
        self._require(state, command.place, command.thing)
        return command.of_kind

    def _require(self, state: Knowledge, place: str, thing: str) -> None:
        """Refuse what is not in this house, as far as is known."""
        if place and place not in self._layout.number:
            raise InvalidOutputError(f"there is no place {place[:80]!r} in this household")
        kinds = {*self._layout.goal.kinds, kind_of(state.holding), *(kind_of(name) for name, _ in state.inside)}
        if thing and kind_of(thing) not in kinds:
            raise InvalidOutputError(f"nobody has seen {thing[:80]!r}, and the task is not about it")

    # --- the world model --------------------------------------------------------------------

    def rollout_request(self, state: State, actions: Sequence[Action]) -> Request | None:
        """Ask for all results along a plan at once; None where an action is no command."""
        commands = [read_command(action) for action in actions]
        if not commands or not all(commands):
            return None
        listed = "\n".join(f"{chat_schema.step_name(i)}: {action}" for i, action in enumerate(actions, 1))
        ask = (
            f"Say what comes of each of these commands, given one after the other:\n{listed}\n"
            "Of an arrival say whether the place is then closed, open, or of a kind that cannot be closed; of a "
            f'command that is not possible when its turn comes say "{chat_schema.NOTHING}". '
            'Answer as JSON: one field a step, with the command, "->" and what comes of it.'
        )
        schema = chat_schema.rollout_model([command for command in commands if command])
        prompt = self._messages("rollout", as_state(self._domain.assume(state, actions)), ask)
        return Request(prompt, _REST + _TOKENS_A_RESULT * len(actions), constraint=JsonSchema(schema), role="rollout")

    def read_rollout(self, state: State, actions: Sequence[Action], text: str) -> list[State | None]:
        """States up to the first command without effect, or whose result is not one that it can have."""
        fields, _ = fields_of(text)
        results = [fields.get(chat_schema.step_name(i)) for i in range(1, len(actions) + 1)]
        if not results or not isinstance(results[0], str):
            raise InvalidOutputError(f"no rollout: expected a JSON object with step_1, got {text[:80]!r}")

        def after(here: Knowledge, item: tuple[int, object]) -> Knowledge | None:
            i, result = item
            return self._after(as_state(self._domain.assume(here, actions[i:])), result, actions[i])

        return [*states_along(as_state(state), enumerate(results), after)]

    def next_request(self, state: State, action: Action, *, valid: bool = False) -> Request:
        """Ask for one result, by a choice of those that the command may have."""
        here, command = as_state(state), read_command(action)
        sure = ", which is possible here," if valid else ""
        # No result could be read back into what is known where the hand or the furniture rules it out.
        none = command is None or hopeless(here, command)
        results: tuple[str, ...] = (f"{action}{chat_schema.LEADS_TO}{chat_schema.NOTHING}",)
        facts = ""
        if command is not None:
            seen = here.of(command.place) if command.place in self._layout.number else NEW
            status = "" if seen == NEW else seen
            results = chat_schema.results(command, status=status, sure=valid and not none, none=none)
            facts = f"{near(here, command)}\n"
        ask = (
            f'{facts}What comes of the command "{action}"{sure} given now? Answer with one of these lines: '
            f"{'; '.join(results)}"
        )
        return Request(self._messages("next", here, ask), _TOKENS_A_RESULT, constraint=OneOf(results), role="next")

    def read_next(self, state: State, text: str) -> State | None:
        """The state with what changes; None where nothing does.

        Raises:
            InvalidOutputError: The text is no result of a command, or of nothing in this household.
        """
        return self._after(as_state(state), text.strip())

    def _after(self, state: Knowledge, answer: object, action: Action | None = None) -> Knowledge | None:
        """The state with the result of a command, which has to be the one given, where one is."""
        written, arrow, result = answer.partition(chat_schema.LEADS_TO) if isinstance(answer, str) else ("", "", "")
        command = read_command(written)
        if command is None or not arrow:
            raise InvalidOutputError(f"expected a command, an arrow and what comes of it, got {str(answer)[:80]!r}")
        if action is not None and (asked := read_command(action)) is not None and asked.of_kind != command.of_kind:
            raise InvalidOutputError(f"asked about {action!r}, got {written!r}")
        if result == chat_schema.NOTHING:
            return None
        self._require(state, command.place, command.thing)
        if result not in {line.partition(chat_schema.LEADS_TO)[2] for line in chat_schema.results(command, sure=True)}:
            raise InvalidOutputError(f"{written!r} cannot lead to {result[:80]!r}")
        return self._changed(state, command.of_kind, result)

    def _changed(self, state: Knowledge, command: AlfworldCommand, result: str) -> Knowledge:
        place, kind = command.place, command.thing
        held = bool(kind) and bool(state.holding) and kind_of(state.holding) == kind
        match command.verb:
            case "go":
                status = chat_schema.IS[result.partition(", ")[2]]
                if status == SHUT and state.of(place) in SEARCHED:
                    status = KEPT
                return replace(state, at=self._layout.reached_with(place)).found(place, status)
            case "open" | "close":
                return state.found(place, OPEN if command.verb == "open" else KEPT)
            case "take" if not state.holding:
                return taken(state, kind)
            case "put" if held:
                return rules.put(state, place)
            case "use":
                return switched_on(state, kind)
            case verb if held and verb in AFTER:
                return rules.treat(state, AFTER[verb])
        raise InvalidOutputError(f"{command.text!r} can lead to nothing here: {state.holding or 'nothing'} is in hand")

    def score_request(self, state: State) -> tuple[Request, Mapping[str, float]]:
        """Ask how many commands are left; fewer are better."""
        ask = (
            "How many commands are still needed at least to end the task? Count them: going to a place, opening it if "
            "it is closed, taking, treating, going on, putting. 0 if the task is done. "
            f"Answer with a number from 0 to {MOST_COUNTED} ({MOST_COUNTED} if it is more)."
        )
        prompt = self._messages("score", as_state(state), ask)
        return Request(prompt, 4, constraint=OneOf(tuple(_SCORES)), role="score"), _SCORES

    def ask(self, state: State, question: str) -> tuple[Message, ...]:
        """What is known of a state, then a question of the engine's own."""
        return messages(as_state(state), question)

    # --- acting -----------------------------------------------------------------------------

    def act_request(
        self, state: State, remaining: Mapping[str, int], action: Action | None, plan: Sequence[Action]
    ) -> Request:
        """Ask for a thought and a command; with ``action`` the command is fixed and only the thought is free."""
        here = as_state(state)
        hint = f" Your plan goes on with: {'; '.join(plan)}. Keep to it while it fits what is known." if plan else ""
        task = "Think in one sentence: what is missing still, and what does it take first? Then give the next command."
        schema = chat_schema.free_model(self._layout.receptacles, self._kinds(here))
        if action is not None:
            schema, task = chat_schema.act_model((action,)), f"Say in one sentence why {action!r} is the next command."
        elif here.shown or here.tried:
            choices = free_choices(here, self._domain.offered(state))
            schema = chat_schema.act_model(choices)
            if here.tried:
                task += f" These were tried just like this, to no use: {'; '.join(sorted(here.tried))}."
            if here.shown:
                task += f" Possible commands: {'; '.join(choices)}."
        ask = f'{task}{hint} Answer as JSON with the fields "thought" and "action", one command.'
        prompt = self._messages("act", here, ask, remaining)
        return Request(prompt, _ACT_TOKENS, constraint=JsonSchema(schema), role="act")

    def read_act(self, state: State, text: str) -> tuple[str, Action]:
        """The thought and the command.

        Raises:
            InvalidOutputError: There is none, or it was tried in this very state while others are left.
        """
        here, answer = as_state(state), parsed(chat_schema.AlfworldActAnswer, text, "no ActAnswer")
        command = with_place(here, self._command(here, answer.action), here.at)
        choices = [c for c in map(read_command, self._domain.offered(state) if here.tried else ()) if c is not None]
        if was_tried(here, command) and not all(was_tried(here, choice) for choice in choices):
            raise InvalidOutputError(f"{command.text!r} was tried in this very state, to no use")
        return answer.thought, command.text

    # --- beliefs ----------------------------------------------------------------------------

    def weigh_requests(
        self, state: State, predicates: Sequence[Predicate]
    ) -> list[tuple[Request, Mapping[str, Predicate]]]:
        """Ask for the likeliest place of a kind among those not looked into; what each option says is true."""
        here = as_state(state)
        places = rules.unsearched(here)
        requests: list[tuple[Request, Mapping[str, Predicate]]] = []
        for kind in dict.fromkeys(p.args[0] for p in predicates if p.name == "in"):
            if places:
                options = {place: Predicate("in", (kind, place)) for place in places}
                ask = f"In which place not looked into is the {kind} most likely? Answer with the name of the place."
                prompt = self._messages("predict", here, ask)
                requests.append((Request(prompt, 8, constraint=OneOf(places), role="predict"), options))
        return requests

    def shut_request(self, state: Knowledge, place: str) -> Request:
        """Ask for yes or no."""
        prompt = messages(state, f"Is {place} closed, as far as you can guess? Answer yes or no.")
        return Request(prompt, 4, constraint=OneOf((_YES, _NO)), role="predict")

    def read_predict(self, state: State, predicates: Sequence[Predicate], text: str) -> Mapping[Predicate, bool]:
        """What one sampled answer says of the predicates that were asked about.

        Raises:
            InvalidOutputError: It is neither yes nor no nor a place.
        """
        answer = text.strip()
        if answer in (_YES, _NO):
            return {p: answer == _YES for p in predicates if p.name == "shut"}
        self._require(as_state(state), answer or "''", "")
        return {p: p.args[1] == answer for p in predicates if p.name == "in"}


@cache
def worked() -> Examples:
    """A worked example of each role, in a house of things and places that no game has."""
    layout = Layout(Goal("pick_cool_then_place_in_recep", "melon", "rack"), ("counter 1", "fridge 1", "rack 1"))
    shown = AlfworldChatFormat(AlfworldDomain(layout), examples={})
    start = Knowledge.start(layout)
    seen = replace(start, at=("counter 1",), inside=frozenset({("melon 1", "counter 1")})).found("counter 1", BARE)
    held = replace(seen, inside=frozenset(), holding="melon 1")
    cool = replace(held, at=("fridge 1",), marks=frozenset({("melon 1", "cool")})).found("fridge 1", SHUT)
    rest = [
        "take melon from counter 1",
        "go to fridge 1",
        "cool melon with fridge 1",
        "go to rack 1",
        "put melon in/on rack 1",
    ]
    results = [f"{action}{chat_schema.LEADS_TO}{result}" for action, result in zip(rest, _RESULTS, strict=True)]
    rollout = shown.rollout_request(seen, rest)
    assert rollout is not None
    score, _ = shown.score_request(cool)
    done = replace(cool, at=("rack 1",), holding="", inside=frozenset({("melon 1", "rack 1")})).found("rack 1", BARE)
    [(where, _)] = shown.weigh_requests(start, [Predicate("in", ("melon", "fridge 1"))])
    thought = "melon 1 is on counter 1; it has to be cooled with fridge 1 and put on rack 1."
    return {
        "plan": _pair(shown.plan_request(seen, {"steps": 9}), {"thought": thought, "actions": rest}),
        "act": _pair(
            shown.act_request(held, {"steps": 8}, None, ()),
            {"thought": "The melon in my hand is not cool yet, and I am not at fridge 1.", "action": rest[1]},
        ),
        "rollout": _pair(rollout, {chat_schema.step_name(i): line for i, line in enumerate(results, 1)}),
        "next": (
            *_pair(shown.next_request(held, rest[1]), results[1]),
            *_pair(shown.next_request(cool, "open rack 1"), f"open rack 1{chat_schema.LEADS_TO}nothing"),
        ),
        "score": (*_pair(score, "2"), *_pair(shown.score_request(done)[0], "0")),
        "predict": _pair(where, "fridge 1"),
    }


_RESULTS = ("taken", "arrived, closed", "cooled", "arrived, cannot be closed", "put")


def _pair(request: Request, answer: object) -> tuple[tuple[str, str], ...]:
    return ((asked(request), answer if isinstance(answer, str) else json.dumps(answer)),)
