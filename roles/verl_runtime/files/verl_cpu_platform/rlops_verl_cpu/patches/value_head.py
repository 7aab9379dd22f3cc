# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The critic's model.

verl loads it with ``attn_implementation="flash_attention_2"``, whatever the configuration says. Without FlashAttention
(it needs CUDA) that fails, and verl reports something else: "is not a value head model, please install trl".
Here the configured attention is used (``critic.model.override_config.attn_implementation``), ``sdpa`` by default.
"""

from __future__ import annotations

from typing import Any

from verl.utils import model

from .. import expect

_NAME = "load_valuehead_model"


def check() -> Any:
    return expect.function(model, _NAME, ("local_path", "torch_dtype", "model_config", "trust_remote_code"))


def apply() -> None:
    check()
    setattr(model, _NAME, load_valuehead_model)


def load_valuehead_model(local_path: str, torch_dtype: Any, model_config: Any, trust_remote_code: bool) -> Any:
    """Same contract as verl's: a token classification model with one label, the value of each token."""
    from transformers import AutoModelForTokenClassification

    attention = getattr(model_config, "_attn_implementation", None)
    if attention is None or attention.startswith("flash_attention"):
        attention = "sdpa"
    return AutoModelForTokenClassification.from_pretrained(
        local_path,
        dtype=torch_dtype,
        config=model_config,
        attn_implementation=attention,
        trust_remote_code=trust_remote_code,
    )
