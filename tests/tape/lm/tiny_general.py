"""A tiny random model of transformers that can write any text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast


def byte_level(texts: list[str], **options: Any) -> PreTrainedTokenizerFast:
    """A tokenizer as those of large models: bytes, and what is often seen side by side in some texts."""
    words = Tokenizer(models.BPE())
    words.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    words.decoder = decoders.ByteLevel()
    special = {"special_tokens": ["<pad>", "<eos>"], "initial_alphabet": pre_tokenizers.ByteLevel.alphabet()}
    words.train_from_iterator(texts, trainers.BpeTrainer(show_progress=False, **special, **options))
    return PreTrainedTokenizerFast(tokenizer_object=words, eos_token="<eos>", pad_token="<pad>")


def general_model(folder: Path) -> None:
    """Save a tiny random model that can write any text, with a chat template."""
    tokenizer = byte_level([])
    tokenizer.chat_template = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = LlamaConfig(vocab_size=len(tokenizer), eos_token_id=1, pad_token_id=0, bos_token_id=None, **sizes)
    torch.manual_seed(0)
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
