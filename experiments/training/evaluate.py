"""How much of fresh training text a model answers rightly, by role: ``experiments.training.ship`` keeps it in a card.

The text is of a seed that is for this alone. An answer is right where each of its words is the likeliest after the
right ones before it; of several optimal actions any is right in a plan, and the one in the text elsewhere. So these
figures compare checkpoints; what models do on held-out tasks is measured by ``tape probe`` and by the studies.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch
from transformers import LlamaForCausalLM

from experiments.training.families import Family
from experiments.training.packing import EOS, PAD
from tape.statistics import wilson

SEED = 909
"""Of the text."""
LATE = 10_000
"""Number of the first batch: after every change of what batches are made of."""
SEQUENCES = 64
_NO_ROLES = (PAD, EOS, "<unk>")


@torch.no_grad()
def accuracy(model: LlamaForCausalLM, family: Family, size: str, batches: int) -> dict[str, dict[str, Any]]:
    """Accuracy with its 95 % interval and n, by the word that asks, such as ``<plan>``.

    Args:
        model: The model.
        family: Of its size.
        size: Its size.
        batches: How much is asked, of 64 sequences each.
    """
    asked: Counter[str] = Counter()
    right: Counter[str] = Counter()
    roles = {i: word for i, word in enumerate(family.words) if word[0] == "<" and word not in _NO_ROLES}
    end = family.words.index(EOS)
    for number in range(batches):
        batch = family.batch(SEED, size, SEQUENCES, LATE + number)
        logits = model(
            input_ids=batch["ids"], attention_mask=batch["mask"], position_ids=batch["position"], use_cache=False
        ).logits
        best = logits.argmax(-1)
        fine = best == batch["label"]
        for i, action in enumerate(family.actions):
            fine |= (best == action) & ((batch["optimal"] >> i) & 1).bool()
        rows = zip(batch["ids"].tolist(), batch["label"].tolist(), fine.tolist(), strict=True)
        role, whole = "", True
        for word, label, good in (place for row in rows for place in zip(*row, strict=True)):
            role = roles.get(word, role)
            if role and label >= 0:  # what is labelled before a role asks is a mark in the state
                whole &= good
                if label == end:
                    asked[role] += 1
                    right[role] += whole
                    role, whole = "", True
    return {
        role: {"accuracy": round(right[role] / n, 4), "ci95": [round(x, 4) for x in wilson(right[role], n)], "n": n}
        for role, n in sorted(asked.items())
    }
