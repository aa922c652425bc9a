"""How many tokens a request has at most: by the model's own tokenizer, which is here or at a server."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TypeAlias
from urllib.request import Request, urlopen

OF_NODE, OF_CALL = 6, 64
"""More than the format of a message, a tool or a field of one takes, and the template of a call."""
LONGEST = 400_000
"""Bytes of the longest request that is counted: a longer one would hold up other calls."""
_FILE = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"
_WAIT = 5.0
"""Seconds for a server's answer."""

Counter: TypeAlias = Callable[[Sequence[str]], int]
logger = logging.getLogger("tape.guard")


def tokens_of(request: bytes, count: Counter) -> int | None:
    """The most tokens of a request; None where it is too long, or they cannot be counted.

    Its texts and names are counted, as they are and as JSON has them, with more for each than any format adds.
    """
    if len(request) > LONGEST:
        return None
    try:
        texts = list(_texts(json.loads(request)))
    except (ValueError, RecursionError):
        texts = [request.decode("utf-8", "replace")]
    try:
        return OF_CALL + OF_NODE * len(texts) + count(texts)
    except (OSError, ValueError, LookupError, TypeError) as error:
        logger.warning("a prompt is bounded by its bytes, since its tokens cannot be counted: %s", error)
        return None


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping | list):
        yield ""
        for item in [*value, *value.values()] if isinstance(value, Mapping) else value:
            yield from _texts(item)
    else:
        yield value if isinstance(value, str) else json.dumps(value)


def counter_of(model: str, given: str | None = None) -> Counter | None:
    """What counts the tokens of a model; None where its tokenizer is not known, or not here. Nothing is fetched.

    Args:
        model: Its name. The tokenizers of OpenAI's models are published.
        given: The name of an encoding of tiktoken; or the address of a server of llama.cpp or vLLM.
    """
    if given is not None and "://" in given:
        return partial(_asked, given.rstrip("/").removesuffix("/v1"), model)
    try:
        import tiktoken

        name = model.replace("/", ":", 1).removeprefix("openai:")  # with another provider it is no known model
        encoding = given or tiktoken.encoding_name_for_model(name)
        source = _FILE.format(encoding.replace("harmony", "base"))
        file = hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest()
        folders = [os.environ.get(text) for text in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR")]
        folder = next((text for text in folders if text is not None), Path(tempfile.gettempdir(), "data-gym-cache"))
        return _counts(encoding) if Path(folder, file).is_file() else None
    except (ImportError, KeyError, ValueError):
        return None


@lru_cache(maxsize=8)
def _counts(name: str) -> Counter:
    import tiktoken

    encode = partial(tiktoken.get_encoding(name).encode, disallowed_special=())

    def count(texts: Sequence[str]) -> int:
        both = ({text, json.dumps(text, ensure_ascii=False)[1:-1]} for text in texts)
        return sum(max(len(encode(text)) for text in forms) for forms in both)

    return count


def _asked(address: str, model: str, texts: Sequence[str]) -> int:
    text = "\n".join(json.dumps(text, ensure_ascii=False)[1:-1] for text in texts)
    body = json.dumps({"content": text, "prompt": text, "model": model}).encode()
    with urlopen(Request(f"{address}/tokenize", body, {"Content-Type": "application/json"}), timeout=_WAIT) as answer:  # noqa: S310
        return len(json.load(answer)["tokens"])
