"""llama.cpp's library in this process, by the bindings of llama-cpp-python: tokens, logits and grammar masks.

Of the bindings only what the C library itself offers is used: their own class keeps one sequence, the logits of one
token, and hides the rest.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tape.errors import ConstraintError, ModelError
from tape.lm.chat_template import control_texts

Logits: TypeAlias = NDArray[np.float32]

CHUNK = 128
"""Tokens of a prompt that are read at a time, always the same ones together: what is computed for a prompt is then the
same to the last bit, whatever of it was kept from the prompt before."""

SEQUENCES = 16
"""Most samples that are written at the same time."""

WINDOW = 8192
"""Most tokens of prompts and answers together; memory is set aside for them."""

_SPLIT_AT = 1 | 8 | 16
"""Attributes of such tokens: unknown, control, user-defined (``enum llama_token_attr``)."""

_CALLED: list[Any] = []
"""What the library calls; it must not be collected."""

_ERROR = 3  # ggml's level of a message
_SAID: list[str] = []
"""What the library said went wrong, last of all; it has no other way to say so."""


class Session:
    """A model in memory and the sequences that it has read.

    Args:
        path: A GGUF file.

    Attributes:
        window: Most tokens of a sequence.
        vocabulary: How many tokens there are.
        ends: Tokens that end an answer.
        kept: How many tokens of prompts were not computed, since the prompt before began with them.

    Raises:
        ModelError: llama.cpp cannot read the file.
    """

    def __init__(self, path: Path) -> None:
        self._api = api = _library()
        params = api.llama_model_default_params()
        self._model = api.llama_model_load_from_file(str(path).encode(), params)
        if not self._model:
            raise ModelError(f"llama.cpp cannot read {path}: {_why()}")
        self._vocab = api.llama_model_get_vocab(self._model)
        self.vocabulary = int(api.llama_vocab_n_tokens(self._vocab))
        self.window = min(WINDOW, int(api.llama_model_n_ctx_train(self._model)))
        options = api.llama_context_default_params()
        options.n_ctx, options.n_batch, options.n_ubatch, options.n_seq_max = self.window, CHUNK, CHUNK, SEQUENCES
        options.kv_unified = True
        options.n_threads = options.n_threads_batch = _threads()
        self._context = api.llama_init_from_model(self._model, options)
        if not self._context:
            self.close()
            raise ModelError(f"llama.cpp cannot make room for {self.window} tokens of {path}: {_why()}")
        self._memory = api.llama_get_memory(self._context)
        self._batch = api.llama_batch_init(CHUNK, 0, 1)
        self.ends = [token for token in range(self.vocabulary) if api.llama_vocab_is_eog(self._vocab, token)]
        self.piece = lru_cache(maxsize=None)(self._piece)
        self._prompt: list[int] = []
        self.kept = 0

    def close(self) -> None:
        """Free the model."""
        api = self._api
        if getattr(self, "_batch", None) is not None:
            api.llama_batch_free(self._batch)
        if getattr(self, "_context", None):
            api.llama_free(self._context)
        if self._model:
            api.llama_model_free(self._model)
        self._model = self._context = self._batch = None

    def __del__(self) -> None:
        if hasattr(self, "_model"):
            self.close()

    def metadata(self, key: str) -> str | None:
        """A value of the file's metadata."""
        size = 1 << 10
        while True:
            buffer = ctypes.create_string_buffer(size)
            length = self._api.llama_model_meta_val_str(self._model, key.encode(), buffer, size)
            if length < size:
                return buffer.value.decode("utf-8", "replace") if length >= 0 else None
            size = length + 1

    def special(self) -> dict[str, str]:
        """The texts of the tokens that a chat template may name."""
        api = self._api
        found = {"bos_token": api.llama_vocab_bos(self._vocab), "eos_token": api.llama_vocab_eos(self._vocab)}
        return {name: self.piece(token).decode("utf-8", "replace") for name, token in found.items() if token >= 0}

    def control(self) -> list[str]:
        """The texts that prompts are split at, those of unknown, control and user-defined tokens."""
        attribute = self._api.llama_vocab_get_attr
        found = [token for token in range(self.vocabulary) if attribute(self._vocab, token) & _SPLIT_AT]
        return control_texts((self.piece(token).decode("utf-8", "replace"), False) for token in found)

    def read_prompt(self, text: str) -> list[int]:
        """Tokens of a rendered prompt, its special tokens as such, begun as the model expects it."""
        tokens = self._tokens(text, special=True)
        first = self._api.llama_vocab_bos(self._vocab)
        if self._api.llama_vocab_get_add_bos(self._vocab) and first >= 0 and tokens[:1] != [first]:
            return [first, *tokens]
        return tokens

    def written(self, text: str) -> list[int]:
        """Tokens of an answer: what they write is the very text.

        Raises:
            ConstraintError: The tokenizer cannot write it.
        """
        # Where the tokenizer puts a space before every text, it is written behind a line break, which is taken off.
        for lead in ("", "\n"):
            before, tokens = self._tokens(lead), self._tokens(lead + text)
            after = tokens[len(before) :]
            if tokens[: len(before)] == before and b"".join(map(self.piece, after)) == text.encode():
                return after
        raise ConstraintError(f"the tokenizer cannot write {text[:200]!r} exactly")

    def _tokens(self, text: str, special: bool = False) -> list[int]:
        raw = text.encode("utf-8", "replace")
        room = len(raw) + 8
        buffer = (self._api.llama_token * room)()
        count = self._api.llama_tokenize(self._vocab, raw, len(raw), buffer, room, False, special)
        if count < 0:
            raise ModelError(f"llama.cpp cannot split {text[:200]!r} into tokens")
        return list(buffer[:count])

    def _piece(self, token: int) -> bytes:
        """The bytes that a token writes."""
        size = 64
        while True:
            buffer = ctypes.create_string_buffer(size)
            length = self._api.llama_token_to_piece(self._vocab, token, buffer, size, 0, True)
            if length >= 0:
                return buffer.raw[:length]
            size = -length

    def start(self, prompt: Sequence[int], samples: int) -> Logits:
        """Read a prompt for some samples, sequences 0 to ``samples - 1``.

        Returns:
            Logits of the first token after it, (vocabulary,).

        Raises:
            ModelError: It failed.
        """
        common = 0
        for old, new in zip(self._prompt, prompt, strict=False):
            if old != new:
                break
            common += 1
        # Whole chunks are kept, and the last token is read in any case, for its logits.
        kept = min(common, len(prompt) - 1) // CHUNK * CHUNK
        self.kept += kept
        for sequence in range(1, SEQUENCES):
            self._api.llama_memory_seq_rm(self._memory, sequence, -1, -1)
        if not self._api.llama_memory_seq_rm(self._memory, 0, kept, -1):  # what cannot forget a part forgets all
            self._api.llama_memory_clear(self._memory, True)
            kept = 0
        self._prompt = []
        for first in range(kept, len(prompt), CHUNK):
            piece = prompt[first : first + CHUNK]
            last = first + len(piece) == len(prompt)
            self._decode([(token, first + i, 0) for i, token in enumerate(piece)], [len(piece) - 1] if last else [])
        self._prompt = list(prompt)
        for sequence in range(1, samples):
            self._api.llama_memory_seq_cp(self._memory, 0, sequence, -1, -1)
        return self._logits((len(prompt) - 1) % CHUNK)

    def step(self, tokens: Sequence[tuple[int, int, int]]) -> list[Logits]:
        """Read a token in each of some sequences.

        Args:
            tokens: Token, its position and its sequence; at most :data:`SEQUENCES`.

        Returns:
            For each: logits of the token after it, (vocabulary,).

        Raises:
            ModelError: It failed.
        """
        every = range(len(tokens))
        self._decode(tokens, every)
        return [self._logits(i) for i in every]

    def follow(self, prompt: Sequence[int], text: Sequence[int]) -> list[Logits]:
        """Read a text after the prompt that was read last, and forget it again.

        Returns:
            For each of its tokens: logits of the token after it, (vocabulary,).

        Raises:
            ModelError: It failed.
        """
        found: list[Logits] = []
        for first in range(0, len(text), CHUNK):
            piece = text[first : first + CHUNK]
            places = [(token, len(prompt) + first + i, 0) for i, token in enumerate(piece)]
            self._decode(places, range(len(piece)))
            found += [self._logits(i) for i in range(len(piece))]
        self._api.llama_memory_seq_rm(self._memory, 0, len(prompt), -1)
        return found

    def _decode(self, tokens: Sequence[tuple[int, int, int]], wanted: Sequence[int]) -> None:
        batch = self._batch
        batch.n_tokens = len(tokens)
        for i, (token, position, sequence) in enumerate(tokens):
            batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.seq_id[i][0] = token, position, 1, sequence
            batch.logits[i] = 0
        for i in wanted:
            batch.logits[i] = 1
        status = self._api.llama_decode(self._context, batch)
        if status:
            self._prompt = []
            raise ModelError(f"llama.cpp failed with status {status}: {_why()}")

    def _logits(self, index: int) -> Logits:
        found = self._api.llama_get_logits_ith(self._context, index)
        return np.ctypeslib.as_array(found, (self.vocabulary,)).copy()

    def grammar(self, text: str) -> GrammarMask:
        """A grammar at its start.

        Raises:
            ConstraintError: llama.cpp cannot read it.
        """
        sampler = self._api.llama_sampler_init_grammar(self._vocab, text.encode(), b"root")
        if not sampler:
            raise ConstraintError(f"llama.cpp cannot read the grammar of the constraint: {_why()}; simplify it")
        return GrammarMask(self._api, sampler, self.vocabulary)


class GrammarMask:
    """What a grammar admits of one sequence's next tokens.

    Args:
        api: The bindings.
        sampler: The library's grammar; it belongs to this object.
        vocabulary: How many tokens there are.
    """

    def __init__(self, api: Any, sampler: Any, vocabulary: int) -> None:
        self._api, self._sampler = api, sampler
        self._data = np.empty(vocabulary, dtype=[("id", "<i4"), ("logit", "<f4"), ("p", "<f4")])

    def __del__(self) -> None:
        self._api.llama_sampler_free(self._sampler)

    def copied(self) -> GrammarMask:
        """The same, for a sequence that begins like this one."""
        return GrammarMask(self._api, self._api.llama_sampler_clone(self._sampler), len(self._data))

    def masked(self, logits: Logits) -> Logits:
        """Logits with -inf for every token that is forbidden now, (vocabulary,).

        Raises:
            ConstraintError: All are.
        """
        self._data["id"], self._data["logit"], self._data["p"] = np.arange(len(logits)), logits, 0
        array = self._api.llama_token_data_array(
            data=self._data.ctypes.data_as(self._api.llama_token_data_p), size=len(logits), selected=-1, sorted=False
        )
        self._api.llama_sampler_apply(self._sampler, ctypes.byref(array))
        found: Logits = np.full(len(logits), -np.inf, np.float32)
        found[self._data["id"]] = self._data["logit"]
        if np.isneginf(found).all():
            raise ConstraintError("the tokenizer cannot meet the constraint: no token can go on")
        return found

    def accept(self, token: int) -> None:
        """Take a token that is allowed."""
        self._api.llama_sampler_accept(self._sampler, token)


@lru_cache(maxsize=1)
def _library() -> Any:
    """The bindings, their messages kept instead of printed."""
    import llama_cpp

    def keep(level: int, text: bytes, _: Any) -> None:
        if level == _ERROR:
            _SAID.append(text.decode("utf-8", "replace").strip())
            del _SAID[:-4]

    callback = llama_cpp.llama_log_callback(keep)
    llama_cpp.llama_log_set(callback, ctypes.c_void_p(0))
    _CALLED.append(callback)
    llama_cpp.llama_backend_init()
    return llama_cpp


def _threads() -> int:
    """One for each core, or as many as are asked for by the variable that torch reads too.

    llama.cpp's threads wait for each other by spinning: where others use the cores, fewer are faster by far.
    """
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return int(asked) if asked.isdigit() and int(asked) else os.cpu_count() or 1


def _why() -> str:
    said = "; ".join(text for text in _SAID if text)
    _SAID.clear()
    return said[:400] or "it does not say why"
