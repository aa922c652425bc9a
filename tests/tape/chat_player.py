"""The bundled LM as a chat model: reads Sokoban's chat prompts, answers in JSON; every decision is its own.

A prompt in the chat format is rewritten in the compact one, answered by the bundled LM under constrained decoding, and
its words are put into the JSON that was asked for. It stands behind a real HTTP endpoint in the tests, as a general
instruction-tuned LM would.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from envs.sokoban.prompts import compact_text as compact
from envs.sokoban.prompts.chat_text import BOX, MOVES, NOTHING, WALL, WORDS
from tape.lm.base import Completion, LanguageModel, OneOf, Regex, Request, Usage

_CELL = re.compile(r"\((\d+),(\d+)\)")
_NAMES = (("Box", "Boxes"), ("Goal", "Goals"))


class ChatPlayer:
    """Implements :class:`tape.lm.base.LanguageModel` for the chat prompt format."""

    prompt_format, price = "chat", None

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self.name = self.identity = f"chat:{model.name}"

    def prompt_tokens(self, request: Request) -> int:
        assert not isinstance(request.prompt, str)
        return sum(len(message.content.split()) for message in request.prompt)

    def scoring_tokens(self, request: Request) -> int:
        raise NotImplementedError

    async def score_options(self, requests: Sequence[Request]) -> list[tuple[tuple[float, ...], Usage]]:
        raise NotImplementedError

    async def generate(self, requests: Sequence[Request]) -> list[Completion]:
        return [await self._answer(request) for request in requests]

    async def _answer(self, request: Request) -> Completion:
        assert not isinstance(request.prompt, str)
        # Worked examples come first; where it is asked to mend an answer, that comes last.
        asked = [message.content for message in request.prompt if message.content.startswith("Board: ")][-1]
        board, _, task = asked.partition("\n\n")
        left = re.search(r"^Steps left: (\d+)", board, re.MULTILINE)
        steps = int(left[1]) if left else compact.MAX_NUMBER
        answers = await self._task(request, task, compact_state(board), max(1, min(steps, compact.MAX_NUMBER)))
        texts = tuple(text if isinstance(text, str) else json.dumps(text, separators=(",", ":")) for text in answers)
        for text in texts:
            self._require(request, text)
        used = Usage(self.prompt_tokens(request), sum(max(1, len(text.split(","))) for text in texts))
        return Completion(texts, ("stop",) * len(texts), (0.0,) * len(texts), used)

    @staticmethod
    def _require(request: Request, text: str) -> None:
        """What the endpoint was asked to enforce is enforced."""
        match request.constraint:
            case OneOf(options):
                assert text in options, (text, options)
            case Regex(pattern):
                assert re.fullmatch(pattern, text), (text, pattern)

    async def _task(self, request: Request, task: str, state: str, left: int) -> list[Any]:
        if task.startswith("Plan all moves"):
            moves = Regex(f"(?: [UDLR]){{1,{left}}}")
            query = compact.plan_query(left)
            texts = await self._ask(state, query, moves, left + 1, request.n, request.temperature, request.seed)
            return [{"thought": "so", "actions": [WORDS[move] for move in text.split()]} for text in texts]
        if task.startswith("Simulate"):
            return [await self._rollout(state, task.split("led: ")[1].split(".", maxsplit=1)[0].split(", "))]
        if task.startswith("Say what"):
            return [await self._next(state, task.split("move ")[1].split(maxsplit=1)[0], sure="is not blocked" in task)]
        if task.startswith("Judge"):
            words = OneOf((" solved", " open", " hopeless"))
            [word] = await self._ask(state, compact.score_query(), words, 2)
            return ["possible" if word == " open" else word.strip()]
        fixed = re.search(r"The next move is (\w+)\.", task)
        assert fixed or "make the next move" in task, task
        move = MOVES[fixed[1]] if fixed else "[UDLR]"
        plan = re.search(r"goes on with ([a-z, ]+):", task)
        query = compact.act_query(left, [MOVES[word] for word in plan[1].split(", ")] if plan else ())
        pattern = Regex(f" next: (?:move|push) {move} action: {move}")
        texts = await self._ask(state, query, pattern, 6, request.n, request.temperature, request.seed)
        return [{"thought": text.split(" action:")[0].strip(), "action": WORDS[text[-1]]} for text in texts]

    async def _ask(
        self, state: str, query: list[str], constraint: Any, tokens: int, n: int = 1, warmth: float = 0, seed: int = 0
    ) -> tuple[str, ...]:
        request = Request(state + compact.text(query), tokens, constraint, n, warmth, seed)
        [completion] = await self._model.generate([request])
        return completion.texts

    async def _next(self, state: str, word: str, *, sure: bool = False) -> dict[str, Any]:
        before = state.split(" player: ")[1].split(" goal:", maxsplit=1)[0].replace("box: ", "")
        count = len(_CELL.findall(before))
        pattern = Regex(rf"(?: \([0-9],[0-9]\)){{{count}}}" + ("" if sure else "| invalid"))
        [text] = await self._ask(state, compact.next_query(MOVES[word]), pattern, count + 1)
        player, *boxes = (f"({r},{c})" for r, c in _CELL.findall(before if text == " invalid" else text))
        meets = WALL if text == " invalid" else NOTHING if set(boxes) == set(before.split()[1:]) else BOX
        return {"move": word, "meets": meets, "player": player, "boxes": boxes}

    async def _rollout(self, state: str, words: list[str]) -> dict[str, Any]:
        outcomes = {}
        for number, word in enumerate(words, 1):
            outcome = outcomes[str(number)] = await self._next(state, word)
            boxes = " ".join(outcome["boxes"])
            state = re.sub(r"player: .* goal:", f"player: {outcome['player']} box: {boxes} goal:", state)
        return outcomes


def compact_state(board: str) -> str:
    """A state of the chat prompts as the bundled LM reads it."""
    fields = dict(line.rstrip(".").split(": ", maxsplit=1) for line in board.splitlines() if ": " in line)
    rows, columns = re.findall(r"\d+", fields["Board"])
    box, goal = (next(fields[name] for name in (text, many) if name in fields) for text, many in _NAMES)
    walls = fields["Inner walls"]
    return compact.text(
        f"size: {rows}x{columns} wall: {walls} player: {fields['Player']} box: {box} goal: {goal}".split()
    )
