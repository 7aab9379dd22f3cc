# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A random Qwen3 model, small enough to train on one CPU core."""

from __future__ import annotations

import torch
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from . import spec


def build(tokenizer: PreTrainedTokenizerFast) -> Qwen3ForCausalLM:
    """Weights in bfloat16, as published models have them; the seed is fixed."""
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=spec.HIDDEN_SIZE,
        intermediate_size=spec.INTERMEDIATE_SIZE,
        num_hidden_layers=spec.LAYERS,
        num_attention_heads=spec.ATTENTION_HEADS,
        num_key_value_heads=spec.KEY_VALUE_HEADS,
        head_dim=spec.HEAD_DIM,
        max_position_embeddings=spec.MAX_POSITIONS,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(spec.SEED)
        return Qwen3ForCausalLM(config).to(torch.bfloat16)
