"""The ``chat`` prompt format: households for general instruction-tuned models, instructions plus a JSON schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from envs.alfworld import rules
from envs.alfworld.commands import Command, read_command
from envs.alfworld.domain import HouseholdDomain
from envs.alfworld.game.kinds import AFTER, kind_of
from envs.alfworld.prompts import chat_schema
from envs.alfworld.prompts.changes import hopeless, switched_on, taken, worth
from envs.alfworld.prompts.chat_schema import MOST_PLANNED
from envs.alfworld.prompts.chat_text import FORM, messages
from envs.alfworld.prompts.lexicon import MOST_STEPS
from envs.alfworld.prompts.placing import free_choices, placed, was_tried, with_place
from envs.alfworld.state import KEPT, OPEN, SEARCHED, SHUT, Knowledge
from tape.errors import InvalidOutputError
from tape.lm.base import Choice, JsonSchema, Message, Request
from tape.protocols import Action, Plan, State
from tape.protocols.predicates import Predicate
from tape.protocols.prompt_format import OfferedPath, offered_text, states_along

_SCORES = {str(n): worth(n) for n in range(MOST_STEPS + 1)}
_TREATED = {chat_schema.CHANGE[verb]: mark for verb, mark in AFTER.items()}
_YES, _NO = "yes", "no"
_TOKENS_A_COMMAND, _TOKENS_A_CHANGE, _ACT_TOKENS = 16, 40, 200

_Answer = TypeVar("_Answer", bound=BaseModel)


class ChatFormat:
    """Chat messages: implements :class:`tape.protocols.prompt_format.PromptFormat` and the protocols of beliefs.

    Objects may be named or called by their kind; commands are read by kind, as predicates speak of them, and the
    environment finds the object that is meant.

    Args:
        domain: The game.
    """

    def __init__(self, domain: HouseholdDomain) -> None:
        self._domain, self._layout = domain, domain.layout

    # --- plans ------------------------------------------------------------------------------

    def plan_request(self, state: State, remaining: Mapping[str, int]) -> Request:
        """Ask for a JSON list of commands."""
        ask = (
            "Write all commands from here to the end of the task, as few as possible and within the steps left. Where "
            "nobody has seen what you need, plan to find it in the likeliest place not looked into. "
            'Answer as JSON: {"actions": ["go to fridge 1", "open fridge 1", "take apple from fridge 1", ...]}'
        )
        most = max(1, min(remaining.get("steps", MOST_PLANNED), MOST_PLANNED))
        prompt = messages(_known(state), ask, remaining)
        tokens = 16 + _TOKENS_A_COMMAND * most
        return Request(prompt, tokens, constraint=JsonSchema(chat_schema.PlanAnswer), role="plan")

    def read_plan(self, state: State, text: str) -> Plan:
        """The commands up to the first that cannot be read; going to where one is already is left out."""
        here, whole = _known(state), True
        try:
            written: Sequence[str] = chat_schema.PlanAnswer.model_validate_json(text).actions
        except ValidationError:
            written, whole = chat_schema.beginning(text), False
        commands: list[Command] = []
        for action in written:
            try:
                commands.append(self._command(here, action))
            except InvalidOutputError:
                whole = False
                break
        return Plan(tuple(c.text for c in placed(here, commands)), valid=whole and bool(commands))

    def _command(self, state: Knowledge, text: str) -> Command:
        """The command that a text is, on things of this household, by kind.

        Raises:
            InvalidOutputError: It is none.
        """
        command = read_command(text)
        if command is None:
            raise InvalidOutputError(f"expected a command, got {text[:80]!r}")
        self._require(state, command.place, command.thing)
        return command.of_kind

    def _require(self, state: Knowledge, place: str, thing: str) -> None:
        """Refuse what is not in this household, as far as is known."""
        if place and place not in self._layout.number:
            raise InvalidOutputError(f"there is no place {place[:80]!r} in this household")
        kinds = {*self._layout.goal.kinds, kind_of(state.holding), *(kind_of(name) for name, _ in state.inside)}
        if thing and kind_of(thing) not in kinds:
            raise InvalidOutputError(f"nobody has seen {thing[:80]!r}, and the task is not about it")

    # --- the world model --------------------------------------------------------------------

    def rollout_request(self, state: State, actions: Sequence[Action]) -> Request | None:
        """Ask for all changes along a plan at once."""
        listed = "\n".join(f"{number}. {action}" for number, action in enumerate(actions, 1))
        ask = (
            f"Say what each of these commands changes, one after the other:\n{listed or 'none'}\n"
            f'{FORM} Answer as JSON: {{"changes": [{{"change": ..., ...}}, ...]}}, one entry a command.'
        )
        prompt = messages(_known(self._domain.assume(state, actions)), ask)
        tokens = 16 + _TOKENS_A_CHANGE * max(1, len(actions))
        return Request(prompt, tokens, constraint=JsonSchema(chat_schema.RolloutAnswer), role="rollout")

    def read_rollout(self, state: State, actions: Sequence[Action], text: str) -> list[State | None]:
        """States up to the first command without effect, or whose change is not one that it can have."""
        changes = _read(chat_schema.RolloutAnswer, text).changes

        def after(here: Knowledge, item: tuple[int, chat_schema.Change]) -> Knowledge | None:
            i, change = item
            return self._after(_known(self._domain.assume(here, actions[i:])), change, read_command(actions[i]))

        return [*states_along(_known(state), enumerate(changes[: len(actions)]), after)]

    def next_request(self, state: State, action: Action, *, valid: bool = False) -> Request:
        """Ask for one change."""
        here, command = _known(state), read_command(action)
        sure = ", which is possible" if valid else ""
        ask = f'What does the command "{action}"{sure} change? {FORM} Answer as JSON: {{"change": ..., ...}}'
        # No change could be read back into what is known where the hand or the furniture rules it out.
        none = command is None or hopeless(here, command)
        schema = chat_schema.NO_CHANGE if command is None or none else chat_schema.change_model(command, sure=valid)
        return Request(messages(here, ask), _TOKENS_A_CHANGE, constraint=JsonSchema(schema), role="next")

    def read_next(self, state: State, text: str) -> State | None:
        """The state with what changes; None where nothing does.

        Raises:
            InvalidOutputError: The text is no change, or of nothing in this household.
        """
        return self._after(_known(state), _read(chat_schema.Change, text))

    def _after(self, state: Knowledge, change: chat_schema.Change, command: Command | None = None) -> Knowledge | None:
        """The state with a change, which has to be one of the command, where it is given."""
        if change.change == "nothing":
            return None
        self._require(state, change.place, change.thing)
        place, kind = change.place, kind_of(change.thing) if change.thing else ""
        if command is not None:
            possible = chat_schema.CHANGE[command.verb], command.place or place, command.of_kind.thing or kind
            place, kind = place or command.place, kind or command.of_kind.thing
            if (change.change, place, kind) != possible:
                raise InvalidOutputError(f"{command.text!r} cannot change what is said: {change.change}")
        return self._changed(state, change.change, place, kind, change.found)

    def _changed(self, state: Knowledge, change: str, place: str, kind: str, found: str) -> Knowledge:
        held = bool(kind) and bool(state.holding) and kind_of(state.holding) == kind
        match change:
            case "arrived" if place and found:
                status = chat_schema.IS[found]
                if status == SHUT and state.of(place) in SEARCHED:
                    status = KEPT
                return replace(state, at=self._layout.reached_with(place)).found(place, status)
            case "opened" | "closed" if place:
                return state.found(place, OPEN if change == "opened" else KEPT)
            case "taken" if kind and not state.holding:
                return taken(state, kind)
            case "put" if held and place:
                return rules.put(state, place)
            case "switched on" if kind:
                return switched_on(state, kind)
            case _ if held and change in _TREATED:
                return rules.treat(state, _TREATED[change])
        raise InvalidOutputError(f"nothing can be {change} here as it is said")

    def score_request(self, state: State) -> tuple[Request, Mapping[str, float]]:
        """Ask how many commands are left; fewer are better."""
        ask = (
            f"How many commands are still needed at least to end the task, from 0 (it is done) to {MOST_STEPS}? "
            "Answer with a number."
        )
        prompt = messages(_known(state), ask)
        return Request(prompt, 4, constraint=Choice(tuple(_SCORES)), role="score"), _SCORES

    def ask(self, state: State, question: str) -> tuple[Message, ...]:
        """What is known of a state, then a question of the engine's own."""
        return messages(_known(state), question)

    # --- acting -----------------------------------------------------------------------------

    def act_request(
        self, state: State, remaining: Mapping[str, int], action: Action | None, plan: Sequence[Action]
    ) -> Request:
        """Ask for a thought and a command; with ``action`` the command is fixed and only the thought is free."""
        here = _known(state)
        hint = f" Your plan goes on with: {'; '.join(plan)}. Keep to it while it fits what is known." if plan else ""
        task = "Think in one sentence, then give the next command."
        schema: type[BaseModel] = chat_schema.ActAnswer
        if action is not None:
            schema, task = chat_schema.act_model((action,)), f"Say in one sentence why {action!r} is the next command."
        elif here.shown or here.tried:
            choices = free_choices(here, self._domain.offered(state))
            schema = chat_schema.act_model(choices)
            if here.tried:
                task += f" These were tried just like this, to no use: {'; '.join(sorted(here.tried))}."
            if here.shown:
                task += f" Possible commands: {'; '.join(choices)}."
        ask = f'{task}{hint} Answer as JSON: {{"thought": "...", "action": "..."}}'
        return Request(messages(here, ask, remaining), _ACT_TOKENS, constraint=JsonSchema(schema), role="act")

    def read_act(self, state: State, text: str) -> tuple[str, Action]:
        """The thought and the command.

        Raises:
            InvalidOutputError: There is none, or it was tried in this very state while others are left.
        """
        here, answer = _known(state), _read(chat_schema.ActAnswer, text)
        command = with_place(here, self._command(here, answer.action), here.at)
        choices = [c for c in map(read_command, self._domain.offered(state) if here.tried else ()) if c is not None]
        if was_tried(here, command) and not all(was_tried(here, choice) for choice in choices):
            raise InvalidOutputError(f"{command.text!r} was tried in this very state, to no use")
        return answer.thought, command.text

    def read_intention(self, thought: str) -> Action | None:
        """None: what a thought about a household intends is not read."""
        del thought
        return None

    def select_request(self, state: State, paths: Sequence[OfferedPath], remaining: Mapping[str, int]) -> Request:
        """Ask for the number of the best plan."""
        listed = offered_text(paths, remaining)
        ask = f"Which of these plans ends the task within the steps left?\n{listed}\nAnswer with its number."
        options = tuple(str(number) for number in range(1, len(paths) + 1))
        return Request(messages(_known(state), ask, remaining), 3, constraint=Choice(options), role="select")

    # --- beliefs ----------------------------------------------------------------------------

    def weigh_requests(
        self, state: State, predicates: Sequence[Predicate]
    ) -> list[tuple[Request, Mapping[str, Predicate]]]:
        """Ask for the likeliest place of a kind among those not looked into; what each option says is true."""
        here = _known(state)
        places = rules.unsearched(here)
        found: list[tuple[Request, Mapping[str, Predicate]]] = []
        for kind in dict.fromkeys(p.args[0] for p in predicates if p.name == "in"):
            if places:
                options = {place: Predicate("in", (kind, place)) for place in places}
                ask = f"In which place not looked into is the {kind} most likely? Answer with the name of the place."
                prompt = messages(here, ask)
                found.append((Request(prompt, 8, constraint=Choice(places), role="predict"), options))
        return found

    def predict_request(
        self, state: State, predicates: Sequence[Predicate]
    ) -> list[tuple[Request, Sequence[Predicate]]]:
        """A likely place settles all places of a kind at once; yes or no whether one receptacle is closed.

        Of other predicates nothing is asked.
        """
        here = _known(state)
        asked: list[tuple[Request, Sequence[Predicate]]] = []
        for request, options in self.weigh_requests(state, predicates):
            if about := [p for p in predicates if p in set(options.values())]:
                asked.append((request, about))
        for predicate in predicates:
            if predicate.name == "shut":
                ask = f"Is {predicate.args[0]} closed, as far as you can guess? Answer yes or no."
                request = Request(messages(here, ask), 4, constraint=Choice((_YES, _NO)), role="predict")
                asked.append((request, [predicate]))
        return asked

    def reworded(self, state: State, number: int) -> State:
        """The places in another order."""
        return _known(state).reordered(number)

    def read_predict(self, state: State, predicates: Sequence[Predicate], text: str) -> Mapping[Predicate, bool]:
        """What one sampled answer says of the predicates that were asked about.

        Raises:
            InvalidOutputError: It is neither yes nor no nor a place.
        """
        said = text.strip()
        if said in (_YES, _NO):
            return {p: said == _YES for p in predicates if p.name == "shut"}
        self._require(_known(state), said or "''", "")
        return {p: p.args[1] == said for p in predicates if p.name == "in"}


def _known(state: State) -> Knowledge:
    assert isinstance(state, Knowledge)
    return state


def _read(model: type[_Answer], text: str) -> _Answer:
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        raise InvalidOutputError(f"no {model.__name__}: {error.errors()[0]['msg']}") from None
