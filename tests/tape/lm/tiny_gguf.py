"""A tiny model with random weights in a GGUF file, and a tiny tokenizer in the style of Llama 2."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

TEMPLATE = (
    "{% for m in messages %}<|start|>{{ m.role }}\n{{ m.content }}<|stop|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant\n{% endif %}"
)
SPECIAL = ("<|pad|>", "<|start|>", "<|stop|>")
SIZES = {"width": 32, "heads": 2, "shared": 1, "inner": 64}


@lru_cache(maxsize=1)
def alphabet() -> tuple[str, ...]:
    """The characters that stand for bytes 0 to 255 in vocabularies of GPT-2's kind."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    code = {byte: byte for byte in plain} | {byte: 256 + i for i, byte in enumerate(others)}
    return tuple(chr(code[byte]) for byte in range(256))


def write_gguf(path: Path, *, seed: int = 0, without: str = "", **changes: Any) -> Path:
    """Write a Llama of one layer, whose two heads share their keys.

    Args:
        path: The file.
        seed: Of its weights.
        without: A field of the metadata that is left out.
        changes: Other values for fields of the metadata, by their names with ``__`` for a dot.
    """
    import gguf

    words = [*SPECIAL, *alphabet(), "he", "ll", "hell"]
    fields: dict[str, Any] = {
        "general.name": "tiny", "llama.block_count": 1, "llama.context_length": 2048,
        "llama.embedding_length": SIZES["width"], "llama.feed_forward_length": SIZES["inner"],
        "llama.attention.head_count": SIZES["heads"], "llama.attention.head_count_kv": SIZES["shared"],
        "llama.attention.layer_norm_rms_epsilon": 1e-5, "llama.rope.freq_base": 10000.0,
        "llama.rope.dimension_count": SIZES["width"] // SIZES["heads"], "llama.vocab_size": len(words),
        "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "smollm", "tokenizer.ggml.tokens": words,
        "tokenizer.ggml.token_type": [3] * len(SPECIAL) + [1] * (len(words) - len(SPECIAL)),
        "tokenizer.ggml.merges": ["h e", "l l", "he ll"], "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2, "tokenizer.ggml.padding_token_id": 0, "tokenizer.ggml.add_bos_token": False,
        "tokenizer.chat_template": TEMPLATE, **{name.replace("__", "."): value for name, value in changes.items()},
    }  # fmt: skip
    fields.pop(without, None)
    writer = gguf.GGUFWriter(str(path), "llama")
    _add(writer, fields)
    rng = np.random.default_rng(seed)
    width, inner = SIZES["width"], SIZES["inner"]
    keys = width // SIZES["heads"] * SIZES["shared"]
    shapes = {
        "token_embd": (len(words), width), "output_norm": (width,), "blk.0.attn_norm": (width,),
        "blk.0.ffn_norm": (width,),
        **{f"blk.0.attn_{name}": (size, width) for name, size in (("q", width), ("k", keys), ("v", keys))},
        **{f"blk.0.{name}": (inner, width) for name in ("ffn_gate", "ffn_up")}, "blk.0.attn_output": (width, width),
        "blk.0.ffn_down": (width, inner),
    }  # fmt: skip
    for name, shape in shapes.items():
        numbers = np.ones(shape) if len(shape) == 1 else rng.normal(0, 0.3, shape)
        writer.add_tensor(f"{name}.weight", numbers.astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _add(writer: Any, fields: Mapping[str, Any]) -> None:
    add = {bool: writer.add_bool, int: writer.add_uint32, float: writer.add_float32, str: writer.add_string}
    for name, value in fields.items():
        add.get(type(value), writer.add_array)(name, value)


def llama2_tokenizer(kind: str) -> Any:
    """A tokenizer that puts a space before every text and takes one from what it decodes.

    Args:
        kind: ``legacy``: by its normalizer, as the first ones; ``first`` or ``always``: by its pre-tokenizer.
    """
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *map(chr, range(33, 127)), "▁"]
    merges: list[tuple[str, str]] = []
    for text in ("▁go", "go", "▁drawer", "drawer", "▁open"):
        for end in range(1, len(text)):
            if (text[:end], text[end]) not in merges:
                merges.append((text[:end], text[end]))
                words += [text[: end + 1]]
    vocabulary = {word: i for i, word in enumerate(dict.fromkeys(words))}
    tokenizer = Tokenizer(models.BPE(vocabulary, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    if kind == "legacy":
        tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace("▁", prepend_scheme=kind, split=False)
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", unk_token="<unk>")
