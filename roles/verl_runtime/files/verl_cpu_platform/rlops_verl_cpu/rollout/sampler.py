# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Batched sampling with transformers' ``generate``, and the log probabilities of what was sampled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True)
class Sampling:
    """How to sample. Requests with equal values can share a batch. Field meanings are vLLM's, as verl sends them."""

    temperature: float = 1.0  # 0: greedy
    top_p: float = 1.0
    top_k: int = -1  # -1: all tokens
    repetition_penalty: float = 1.0

    @classmethod
    def from_verl(cls, params: dict[str, Any]) -> Sampling:
        """Take verl's sampling_params; a key that this rollout does not know is an error, not a silent no-op."""
        unknown = set(params) - {*cls.__dataclass_fields__, "logprobs", "max_tokens", "max_new_tokens"}
        if unknown:
            raise ValueError(f"rollout hf does not support the sampling parameters {sorted(unknown)}")
        return cls(**{name: params[name] for name in cls.__dataclass_fields__ if params.get(name) is not None})

    def generate_arguments(self) -> dict[str, Any]:
        common = {"repetition_penalty": self.repetition_penalty}
        if self.temperature == 0:
            # None: a value in the model's generation_config must not reach greedy search
            return common | {"do_sample": False, "temperature": None, "top_p": None, "top_k": None}
        return common | {
            "do_sample": True,
            "temperature": self.temperature,
            "top_p": self.top_p,
            "top_k": max(0, self.top_k),  # 0 switches transformers' filter off; its default is 50
        }


@dataclass(frozen=True)
class Sequences:
    """One entry per prompt."""

    token_ids: list[list[int]]
    log_probs: list[list[float]]  # of the distribution that was sampled from, i.e. after temperature, top-k and top-p


@torch.inference_mode()
def sample(
    model: Any,
    prompts: Sequence[Sequence[int]],
    limits: Sequence[int],
    sampling: Sampling,
    eos_ids: set[int],
    pad_id: int,
) -> Sequences:
    """Continue each prompt by at most its limit, up to and including an end token.

    The prompts are padded on the left, and masked: row by row the result has the distribution it would have alone.
    """
    width = max(map(len, prompts))
    input_ids = torch.full((len(prompts), width), pad_id)
    attention_mask = torch.zeros_like(input_ids)
    for row, prompt in enumerate(prompts):
        input_ids[row, width - len(prompt) :] = torch.tensor(prompt)
        attention_mask[row, width - len(prompt) :] = 1

    output = model.generate(
        input_ids,
        attention_mask=attention_mask,
        max_new_tokens=max(limits),
        eos_token_id=sorted(eos_ids),
        pad_token_id=pad_id,
        return_dict_in_generate=True,
        output_scores=True,
        **sampling.generate_arguments(),
    )
    new_ids = output.sequences[:, width:]  # (rows, steps)
    scores = torch.stack(output.scores, dim=1).float().log_softmax(-1)  # (rows, steps, vocabulary)
    log_probs = scores.gather(-1, new_ids.unsqueeze(-1)).squeeze(-1)

    lengths = [_length(ids, limit, eos_ids) for ids, limit in zip(new_ids.tolist(), limits, strict=True)]
    return Sequences(
        token_ids=[new_ids[row, :length].tolist() for row, length in enumerate(lengths)],
        log_probs=[log_probs[row, :length].tolist() for row, length in enumerate(lengths)],
    )


def _length(ids: list[int], limit: int, eos_ids: set[int]) -> int:
    """How much of a row is its own: what follows an end token, or its limit, is filling of the batch."""
    for position, token in enumerate(ids[:limit]):
        if token in eos_ids:
            return position + 1
    return min(limit, len(ids))
