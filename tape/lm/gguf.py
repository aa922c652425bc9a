"""``gguf:PATH[#TOKENIZER]``: a model in one GGUF file, as llama.cpp has them, played by transformers.

transformers reads the file and makes plain numbers of its blocks. That takes seconds, so it is done once: what comes of
it is kept as a checkpoint in the user's cache, by a hash of the file, and opened from there. No network is asked.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from tape.errors import ModelError
from tape.files import cache_folder
from tape.lm.weight_files import check_gguf
from tape.plugins import LOCAL, require_extra
from tape.reading import read_json, read_text

if TYPE_CHECKING:
    from tape.lm.base import LanguageModel

READERS = (*LOCAL, "gguf", "accelerate")
"""What reads a GGUF file; a converted one is opened without the last two."""

LAYOUT = 1
"""Of what is kept in the cache; a change makes everything anew."""

ENDS = ("eos", "eot", "eom")
"""Tokens that end an answer, as a file's metadata call them."""

LARGE = 2_000_000_000
"""From this many parameters on the numbers are kept as bfloat16: half the disk and memory."""


def open_gguf(argument: str) -> LanguageModel:
    """Open a GGUF file.

    Args:
        argument: The file; behind a ``#`` a folder with a tokenizer of transformers, where the file's own is missing
            or cannot be read.

    Raises:
        ModelError: There is no such file, it cannot be read, or it lacks what chat prompts need; names what to do.
        MissingExtraError: The packages of the extra ``gguf`` are not installed.
    """
    path, _, tokenizer = argument.partition("#")
    if not path:
        raise ModelError("gguf: needs a file, for instance gguf:./my-model.Q4_K_M.gguf")
    return load_gguf(Path(path), f"gguf:{argument}", Path(tokenizer) if tokenizer else None)


def load_gguf(path: Path, name: str, tokenizer: Path | None = None) -> LanguageModel:
    """Open a GGUF file under a name.

    Args:
        path: The file.
        name: The string that it is opened with.
        tokenizer: A folder with a tokenizer in place of the file's own.

    Raises:
        ModelError: As for :func:`open_gguf`.
        MissingExtraError: The packages of the extra ``gguf`` are not installed.
    """
    require_extra("gguf", *LOCAL, what=name)
    check_gguf(path)
    if tokenizer is not None and not tokenizer.is_dir():
        raise ModelError(f"{name}: {tokenizer} is no folder; behind the # stands one with a tokenizer.json")
    from tape.lm.hf import digest_of, load_checkpoint

    digest = file_digest(path)
    kept = cache_folder("gguf") / f"{digest}-{LAYOUT}"
    weights = _kept(kept / "weights", name, lambda folder: _convert_weights(path, folder))
    words = tokenizer or _kept(kept / "tokenizer", name, lambda folder: _convert_tokenizer(path, folder))
    identity = f"{name.partition('#')[0]}@{digest}" + (f"#{digest_of(words)}" if tokenizer else "")
    if tokenizer is None and is_plain(weights):
        return _load_plain(weights, words, name, identity)
    return load_checkpoint(weights, words, name=name, identity=identity, offline=True)


def is_plain(weights: Path) -> bool:
    """Whether a checkpoint is the one architecture that is played without transformers, which takes seconds to load."""
    from tape.lm.llama import FIXED

    config = read_json(weights / "config.json", dict[str, Any], error=ModelError)
    ends = read_json(weights / "generation_config.json", dict[str, Any], error=ModelError).get("eos_token_id")
    rope = config.get("rope_parameters") or {}
    return (
        all(config.get(key) == value for key, value in FIXED.items())
        and rope.get("rope_type") == "default"
        and config.get("dtype") == "float32"
        and len(ends or ()) == 1
    )


def _load_plain(weights: Path, words: Path, name: str, identity: str) -> LanguageModel:
    """Open a converted plain Llama without transformers."""
    from llguidance import LLTokenizer

    from tape.lm.chat import ChatLM
    from tape.lm.chat_template import ChatTemplate, jinja_render
    from tape.lm.exact_tokenizer import FileTokenizer
    from tape.lm.hf import check_window, without_template
    from tape.lm.llama import Llama
    from tape.lm.outlines_engine import ConstraintCompiler

    template = words / "chat_template.jinja"
    if not template.is_file():
        raise without_template(name)
    tokenizer = FileTokenizer(words)
    network = Llama(weights, grouped=True)
    check_window(network.window, name)
    return ChatLM(
        network,
        tokenizer,
        ConstraintCompiler(tokenizer, lambda: LLTokenizer(tokenizer.definition, eos_token=tokenizer.eos_token_id)),
        name=name,
        identity=identity,
        prompt_format="chat",
        trees=True,
        template=ChatTemplate(
            jinja_render(read_text(template, error=ModelError), tokenizer.special), name, tokenizer.control
        ),
        read=tokenizer.read,
    )


def file_digest(path: Path) -> str:
    """A hash of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


def _kept(folder: Path, name: str, make: Callable[[Path], None]) -> Path:
    """A folder of the cache, made if it is not there; it is there as a whole or not at all."""
    if folder.is_dir():
        return folder
    require_extra("gguf", *READERS, what=name)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    except OSError as error:
        raise ModelError(
            f"cannot write to the cache {folder.parent}: {error.strerror}; point XDG_CACHE_HOME elsewhere"
        ) from error
    from safetensors import SafetensorError

    try:
        make(partial)
        try:
            partial.replace(folder)
        except OSError:
            if not folder.is_dir():  # else another process was faster
                raise
    except (OSError, SafetensorError) as error:  # safetensors raises its own where the disk is full
        raise ModelError(
            f"{name}: cannot be converted into {folder}: {error}; free some disk space or mend the cause"
        ) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return folder


def _convert_weights(path: Path, folder: Path) -> None:
    """Save a file's configuration, its end tokens and its numbers as a checkpoint of transformers."""
    import torch
    from safetensors.torch import save_file
    from transformers import AutoModelForCausalLM, GenerationConfig

    with _quietly_and_once():
        try:
            fields = _fields(path)
            model, loaded = AutoModelForCausalLM.from_pretrained(
                path.parent,
                gguf_file=path.name,
                dtype=torch.float32,
                local_files_only=True,
                output_loading_info=True,
                **_dequantized(),
            )
        except Exception as error:  # the readers raise what they like
            raise ModelError(
                f"transformers cannot read {path}: {error}; llama.cpp may: serve it by "
                "llama-server and name it llamacpp:NAME"
            ) from error
    if missing := sorted(loaded["missing_keys"]):
        raise ModelError(f"{path} lacks {len(missing)} tensors of its model, for instance {missing[0]}; fetch it again")
    config = model.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config  # the numbers are plain now
    state = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}
    if config.tie_word_embeddings:
        state.pop("lm_head.weight", None)
    if sum(tensor.numel() for tensor in state.values()) >= LARGE:
        state = {name: tensor.to(torch.bfloat16) for name, tensor in state.items()}
    config.dtype = next(iter(state.values())).dtype
    config.architectures = [type(model).__name__]
    save_file(state, folder / "model.safetensors", metadata={"format": "pt"})
    config.save_pretrained(folder)
    ends = [int(fields[key]) for end in ENDS if (key := f"tokenizer.ggml.{end}_token_id") in fields]
    GenerationConfig(eos_token_id=list(dict.fromkeys(ends)) or None).save_pretrained(folder)


def _convert_tokenizer(path: Path, folder: Path) -> None:
    """Save a file's tokenizer, its chat template included."""
    from transformers import AutoTokenizer

    with _quietly_and_once():
        try:
            tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name, local_files_only=True)
        except Exception as error:  # the readers raise what they like
            raise ModelError(
                f"{path}: transformers cannot read its tokenizer: {error}; give a folder with the model's "
                f"tokenizer.json behind a #: gguf:{path}#FOLDER"
            ) from error
    tokenizer.save_pretrained(folder)


def _dequantized() -> dict[str, Any]:
    """Options with which newer versions of transformers keep no blocks; older versions never do."""
    import transformers

    config = getattr(transformers, "GgufConfig", None)
    return {} if config is None else {"quantization_config": config(dequantize=True)}


def _fields(path: Path) -> dict[str, Any]:
    """The end tokens of a file, by the names of its metadata."""
    import gguf

    reader = gguf.GGUFReader(str(path))
    wanted = [key for key in reader.fields if key.endswith("_token_id")]
    return {key: reader.fields[key].contents() for key in wanted}


@contextmanager
def _quietly_and_once() -> Iterator[None]:
    """Read a file once, and show no bars.

    transformers (5.23) parses a file's metadata, some hundred thousand texts, four times, and makes the table of tensor
    names anew for each of some 400 modules: of 20 s that is 15.
    """
    import gguf
    from transformers import modeling_gguf_pytorch_utils as reading

    from tape.lm.hf import without_bars

    with without_bars(), ExitStack() as stack:
        for module, name in ((gguf, "GGUFReader"), (gguf, "get_tensor_name_map")):
            stack.enter_context(patch.object(module, name, lru_cache(maxsize=2)(getattr(module, name))))
        stack.enter_context(patch.object(reading, "tqdm", lambda items, **_: items))
        yield
