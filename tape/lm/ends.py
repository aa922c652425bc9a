"""Several tokens that end an answer, taken for one."""

from __future__ import annotations

from collections.abc import Sequence

import torch


def joined_ends(logits: torch.Tensor, ends: Sequence[int]) -> torch.Tensor:
    """Logits in which the first end has the probability of all ends together, and the others have none.

    Models often know more than one: the end of a turn, of a tool call, of the text. Decoding, constraints and scores
    then need to know one alone.

    Args:
        logits: (..., vocabulary).
        ends: Token ids, different from each other; those outside the vocabulary are passed over.

    Returns:
        The same shape; the same logits where there is but one end.
    """
    known = [end for end in ends if end < logits.shape[-1]]
    if len(known) < 2:
        return logits
    joined = logits.clone()
    joined[..., known[0]] = logits[..., known].logsumexp(-1)
    joined[..., known[1:]] = float("-inf")
    return joined
