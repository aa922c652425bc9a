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
from tape.plugins import LOCAL, require_extra

if TYPE_CHECKING:
    from tape.lm.base import LanguageModel

READERS = (*LOCAL, "gguf", "accelerate")
"""What reads a GGUF file; a converted one is opened without the last two."""

LAYOUT = 1
"""Of what is kept in the cache; a change makes everything anew."""

ENDS = ("eos", "eot", "eom")
"""Tokens that end an answer, as a file's metadata call them."""

MOST_READS = 4_000_000
"""Most values of a file's header, a text counts as two. A vocabulary of 260,000 tokens has 1.3 million of them."""

LARGE = 2_000_000_000
"""From this many parameters on the numbers are kept as bfloat16: half the disk and memory."""


def open_gguf(argument: str) -> LanguageModel:
    """Open a GGUF file.

    Args:
        argument: The file; behind a ``#`` a folder with a tokenizer of transformers, where the file's own is missing
            or cannot be read.
    """
    path, _, tokenizer = argument.partition("#")
    if not path:
        raise ModelError("gguf: needs a file, for instance gguf:./my-model.Q4_K_M.gguf")
    return load_gguf(Path(path), f"gguf:{argument}", Path(tokenizer) if tokenizer else None)


def load_gguf(path: Path, name: str, tokenizer: Path | None = None) -> LanguageModel:
    """Open a GGUF file under a name."""
    require_extra("gguf", *LOCAL, what=name)
    digest = _digest(path)
    if tokenizer is not None and not tokenizer.is_dir():
        raise ModelError(f"{name}: {tokenizer} is no folder; behind the # stands one with a tokenizer.json")
    from tape.lm.hf import digest_of, load_checkpoint

    kept = cache_folder("gguf") / f"{digest}-{LAYOUT}"
    weights = _kept(kept / "weights", name, lambda folder: _convert_weights(path, folder))
    words = tokenizer or _kept(kept / "tokenizer", name, lambda folder: _convert_tokenizer(path, folder))
    identity = f"{name.partition('#')[0]}@{digest}" + (f"#{digest_of(words)}" if tokenizer else "")
    return load_checkpoint(weights, words, name=name, identity=identity, offline=True)


def _digest(path: Path) -> str:
    """A hash of a file's content, which must be that of a GGUF file by its first bytes."""
    if path.exists() and not path.is_file():  # a pipe would be waited for, and a device may never end
        raise ModelError(f"{path} is no file; name a file of weights")
    try:
        with path.open("rb") as file:
            if (magic := file.read(4)) != b"GGUF":
                raise ModelError(
                    f"{path} is no GGUF file (it begins with {magic!r}); a folder of transformers is hf:FOLDER"
                )
            file.seek(0)
            return hashlib.file_digest(file, "sha256").hexdigest()[:16]
    except OSError as error:
        raise ModelError(
            f"cannot read the model file {path}: {error.strerror or error}; name a file that is one"
        ) from error


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

    with _quietly_and_once(path) as reader:
        try:
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
    fields = [reader.fields.get(f"tokenizer.ggml.{end}_token_id") for end in ENDS]
    ends = [int(field.contents()) for field in fields if field is not None]
    GenerationConfig(eos_token_id=list(dict.fromkeys(ends)) or None).save_pretrained(folder)


def _convert_tokenizer(path: Path, folder: Path) -> None:
    """Save a file's tokenizer, its chat template included."""
    from transformers import AutoTokenizer

    with _quietly_and_once(path):
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


def bounded_reader(path: str) -> Any:
    """The reader of gguf, with every count and length held against the file: a header may declare any.

    Raises:
        ModelError: It declares more than the file has, or the file is none; names the byte where one is to blame.
    """
    from gguf.gguf_reader import GGUFReader
    from numpy import dtype as kind_of

    class Bounded(GGUFReader):  # type: ignore[misc]  # the package has no types
        reads = 0

        def _get(self, offset: int, dtype: Any, count: int = 1, override_order: Any = None) -> Any:
            self.reads += 1
            if self.reads > MOST_READS:
                raise ValueError(f"it has more than {MOST_READS} values, which is the most that is read")
            if offset + (size := kind_of(dtype).itemsize * int(count)) > len(self.data):
                raise ValueError(f"byte {offset}: it declares {size} bytes, and the file has {len(self.data)}")
            return super()._get(offset, dtype, count, override_order)

    try:
        reader = Bounded(path)
        tensors = len(reader.tensors)
        for key, field in reader.fields.items():
            if key.endswith(".block_count") and field.contents() > tensors:  # so many would be made
                raise ValueError(f"a model of {field.contents()} layers is not made of {tensors} tensors")
    except Exception as error:  # the reader raises what it likes, of lists that are nested too deep too
        raise ModelError(f"{path}: {error}; the file is damaged or no model, fetch it again") from error
    return reader


@contextmanager
def _quietly_and_once(path: Path) -> Iterator[Any]:
    """Read a file once, and show no bars; gives its reader.

    transformers (5.23) parses a file's metadata, some hundred thousand texts, four times, and makes the table of tensor
    names anew for each of some 400 modules: of 20 s that is 15.
    """
    import gguf
    from transformers import modeling_gguf_pytorch_utils as reading

    from tape.lm.hf import without_bars

    with without_bars(), ExitStack() as stack:
        for name, made in (("GGUFReader", bounded_reader), ("get_tensor_name_map", gguf.get_tensor_name_map)):
            stack.enter_context(patch.object(gguf, name, lru_cache(maxsize=2)(made)))
        stack.enter_context(patch.object(reading, "tqdm", lambda items, **_: items))
        yield gguf.GGUFReader(str(path))
