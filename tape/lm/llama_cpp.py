"""``llama:PATH[#FOLDER]``: a GGUF file in llama.cpp, in this process: its own quantised arithmetic, its own grammars.

Neither torch nor transformers is loaded. Constraints become GBNF grammars (:mod:`tape.lm.gbnf`), which admit the same
texts as the masks of other local models.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tape.errors import ConstraintError, ModelError
from tape.lm.base import FREE, Choice, Completion, Constraint, Price, Request, Usage
from tape.lm.chat_template import ChatTemplate, jinja_render
from tape.lm.constraints import literals
from tape.lm.gbnf import to_gbnf
from tape.plugins import require_extra
from tape.reading import read_text
from tape.seeds import derive
from tape.waiting import interruptible

if TYPE_CHECKING:
    from tape.lm.llama_native import GrammarMask, Logits, Session

PARSED = 64
"""Most constraints whose grammars are kept."""


def open_llama(argument: str) -> LlamaCppLM:
    """Open a GGUF file in llama.cpp.

    Args:
        argument: The file, or ``smollm2``; behind a ``#`` a folder with a ``chat_template.jinja`` in place of its own.

    Raises:
        ModelError: There is no such file, llama.cpp cannot read it, or it has no chat template.
        MissingExtraError: The packages of the extra ``llama`` are not installed.
    """
    path, _, folder = argument.partition("#")
    if not path:
        raise ModelError("llama: needs a file, for instance llama:./my-model.Q4_K_M.gguf")
    name = f"llama:{argument}"
    require_extra("llama", "llama_cpp", what=name)
    from tape.lm.gguf import file_digest
    from tape.lm.weight_files import check_gguf

    file = Path(path)
    if path == "smollm2" and not file.exists():
        from tape.lm.smollm2 import weights_file

        file = weights_file()
    check_gguf(file)
    template = read_text(Path(folder) / "chat_template.jinja", error=ModelError) if folder else None
    own = "" if template is None else f"#{hashlib.sha256(template.encode()).hexdigest()[:16]}"
    return LlamaCppLM(file, name=name, digest=file_digest(file) + own, template=template)


@dataclass
class _Row:
    """One sample being written."""

    grammar: GrammarMask | None
    rng: np.random.Generator | None
    tokens: list[int] = field(default_factory=list)
    begun: bytes = b""  # of a character that is not whole yet
    logprob: float = 0.0
    finish: str = ""


class LlamaCppLM:
    """Implements :class:`tape.lm.base.LanguageModel` on llama.cpp.

    The samples of a request are written together; requests come one after the other. What a prompt has in common with
    the one before is not computed again.

    Args:
        path: The GGUF file.
        name: The string it was opened with.
        digest: A hash of the file, and of a template in place of its own.
        template: A chat template in place of the file's own.

    Raises:
        ModelError: llama.cpp cannot read it, or there is no chat template.
    """

    prompt_format = "chat"

    def __init__(self, path: Path, *, name: str, digest: str, template: str | None = None) -> None:
        import llama_cpp

        from tape.lm.hf import check_window, without_template
        from tape.lm.llama_native import Session

        self.name, self.identity = name, f"{name}@{digest}/llama.cpp-{llama_cpp.__version__}"
        self.price: Price | None = FREE
        self._session: Session = Session(path)
        check_window(self._session.window, name)
        template = template or self._session.metadata("tokenizer.chat_template")
        if not template:
            raise without_template(name)
        self._template = ChatTemplate(jinja_render(template, self._session.special()), name, self._session.control())
        self._read = lru_cache(maxsize=256)(lambda text: tuple(self._session.read_prompt(text)))
        self._grammars: dict[str, GrammarMask] = {}

    @property
    def window(self) -> int:
        """See :func:`tape.lm.base.window_of`."""
        return int(self._session.window)

    def close(self) -> None:
        """Free the model."""
        self._grammars.clear()
        self._session.close()

    def _encode(self, request: Request) -> tuple[int, ...]:
        if isinstance(request.prompt, str):
            return self._read(request.prompt)
        return self._read(self._template.text(request.prompt))

    def prompt_tokens(self, request: Request) -> int:
        """Exact number of prompt tokens."""
        return len(self._encode(request))

    def scoring_tokens(self, request: Request) -> int:
        """One where every option is one token, else all tokens of all options and their ends."""
        return _scoring(self._options(request))

    def _options(self, request: Request) -> list[list[int]]:
        if not isinstance(request.constraint, Choice):
            raise ConstraintError("score_options needs requests with a Choice")
        return [self._session.written(option) for option in request.constraint.options]

    async def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """Answer requests, one after the other.

        Raises:
            ModelError: A prompt is longer than the model's window, or llama.cpp failed.
            ConstraintError: A constraint cannot be met by the tokenizer, or llama.cpp cannot read its grammar.
        """
        with interruptible():
            return [self._answer(request) for request in requests]

    def _answer(self, request: Request) -> Completion:
        prompt = self._checked(request)
        start = None if request.constraint is None else self._grammar(request.constraint)
        rows = [
            _Row(
                start and start.copied(),
                np.random.default_rng(derive(request.seed, k)) if request.temperature > 0 else None,
            )
            for k in range(request.n)
        ]
        # All samples together must fit into the memory that was set aside.
        most = max(1, min(_sequences(), (self._session.window - len(prompt)) // request.max_tokens))
        for first in range(0, len(rows), most):
            self._write(request, prompt, rows[first : first + most])
        return Completion(
            tuple(self._text(row.tokens) for row in rows),
            tuple(row.finish for row in rows),
            tuple(row.logprob for row in rows),
            Usage(len(prompt), sum(len(row.tokens) + (row.finish == "stop") for row in rows)),
        )

    def _write(self, request: Request, prompt: Sequence[int], rows: Sequence[_Row]) -> None:
        live = list(enumerate(rows))
        logits = [self._session.start(prompt, len(rows))] * len(rows)
        while True:
            for (_, row), mine in zip(live, logits, strict=True):
                self._choose(row, mine, request, len(prompt))
            live = [(sequence, row) for sequence, row in live if not row.finish]
            if not live:
                return
            logits = self._session.step(
                [(row.tokens[-1], len(prompt) + len(row.tokens) - 1, sequence) for sequence, row in live]
            )

    def _choose(self, row: _Row, logits: Logits, request: Request, prompt: int) -> None:
        """Pick a row's next token."""
        if row.grammar is not None:
            logits = row.grammar.masked(logits)
        while True:
            logp = self._logp(logits)
            token = int(logp.argmax()) if row.rng is None else _sample(logp, request.temperature, row.rng)
            ended = token in self._session.ends
            begun = _begun(row.begun, b"" if ended else self._session.piece(token))
            if row.grammar is None or (begun is not None and not (ended and begun)):
                break
            logits[self._session.ends if ended else token] = -np.inf  # llama.cpp's grammars admit broken characters
            if np.isneginf(logits).all():
                raise ConstraintError("the tokenizer cannot meet the constraint: no token can go on")
        row.logprob += float(logp[token])
        if ended:
            row.finish = "stop"
            return
        row.begun = begun or b""
        row.tokens.append(token)
        if row.grammar is not None:
            row.grammar.accept(token)
        if len(row.tokens) >= request.max_tokens or prompt + len(row.tokens) >= self._session.window:
            row.finish = "length"

    def _logp(self, logits: Logits) -> np.ndarray:
        """Log-probabilities, (vocabulary,), those of all ends on the first of them."""
        found = logits.astype(np.float64)
        ends = self._session.ends
        if len(ends) > 1:
            joined = np.logaddexp.reduce(found[ends])
            found[ends] = -np.inf
            found[ends[0]] = joined
        top = found.max()
        shifted: np.ndarray = found - top - math.log(np.exp(found - top).sum())
        return shifted

    def _text(self, tokens: Sequence[int]) -> str:
        return b"".join(map(self._session.piece, tokens)).decode("utf-8", "replace")

    def _checked(self, request: Request, more: int = 0) -> tuple[int, ...]:
        prompt = self._encode(request)
        if len(prompt) + more >= self._session.window:
            raise ModelError(
                f"{self.name} reads at most {self._session.window} tokens, the prompt has {len(prompt)}; use a smaller "
                "task or a model with a longer context"
            )
        return prompt

    def _grammar(self, constraint: Constraint) -> GrammarMask:
        """The grammar of a constraint at its start."""
        grammar = to_gbnf(constraint)  # schemas that are made anew for each request are often the same
        parsed = self._grammars.pop(grammar, None)
        if parsed is None:
            for text in literals(constraint):
                self._session.written(text)
            parsed = self._session.grammar(grammar)
        self._grammars[grammar] = parsed  # now the last one used
        if len(self._grammars) > PARSED:
            self._grammars.pop(next(iter(self._grammars)))
        return parsed

    async def score_options(self, requests: Sequence[Request]) -> list[tuple[tuple[float, ...], Usage]]:
        """Probability of each option of a :class:`Choice`, its end included.

        Raises:
            ConstraintError: A request has no choice, or an option cannot be written.
            ModelError: As for :meth:`generate`.
        """
        with interruptible():
            return [self._scores(request) for request in requests]

    def _scores(self, request: Request) -> tuple[tuple[float, ...], Usage]:
        options = self._options(request)
        prompt = self._checked(request, max(map(len, options)))
        first = self._logp(self._session.start(prompt, 1))
        if _scoring(options) == 1:
            logs = [float(first[option[0]]) for option in options]
        else:
            end = self._session.ends[0]
            logs = []
            for option in options:
                rows = [first, *map(self._logp, self._session.follow(prompt, option))]
                logs.append(sum(float(row[token]) for row, token in zip(rows, [*option, end], strict=True)))
        weights = [math.exp(value - max(logs)) for value in logs]
        return tuple(weight / sum(weights) for weight in weights), Usage(len(prompt), _scoring(options))


def _begun(before: bytes, more: bytes) -> bytes | None:
    """The bytes of a last character that is not whole yet; None: these are no bytes of characters."""
    data = before + more
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return data[error.start :] if error.reason == "unexpected end of data" else None
    return b""


def _scoring(options: Sequence[Sequence[int]]) -> int:
    return 1 if all(len(option) == 1 for option in options) else sum(len(option) + 1 for option in options)


def _sequences() -> int:
    from tape.lm.llama_native import SEQUENCES

    return SEQUENCES


def _sample(logp: np.ndarray, temperature: float, rng: np.random.Generator) -> int:
    """Draw one token by inverting the cumulative distribution."""
    scaled = logp / temperature
    cumulative = np.cumsum(np.exp(scaled - scaled.max()))
    return int(min(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"), len(logp) - 1))
