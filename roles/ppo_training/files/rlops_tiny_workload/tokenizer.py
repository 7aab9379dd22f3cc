# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A byte-level BPE tokenizer whose vocabulary is written down, not trained: the same on every machine."""

from __future__ import annotations

from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from . import spec

PAD, START, END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"

CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)

_SPACE = "Ġ"  # how byte-level BPE writes a space
_WORDS = ("What", _SPACE + "is", _SPACE + "+", "user", "assistant", "system")


def build() -> PreTrainedTokenizerFast:
    """256 bytes, the words of the prompts, and all numbers of two digits (so that many tokens are digits)."""
    vocabulary = {byte: index for index, byte in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    merges: dict[tuple[str, str], None] = {}
    numbers = tuple(str(number) for number in range(10, 2 * spec.LARGEST))
    for word in _WORDS + numbers:
        for end in range(1, len(word)):
            vocabulary.setdefault(word[: end + 1], len(vocabulary))
            merges.setdefault((word[:end], word[end]))

    bpe = Tokenizer(models.BPE(vocab=vocabulary, merges=list(merges)))
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bpe, pad_token=PAD, eos_token=END, additional_special_tokens=[START]
    )
    tokenizer.chat_template = CHAT_TEMPLATE
    tokenizer.model_max_length = spec.MAX_POSITIONS
    return tokenizer
