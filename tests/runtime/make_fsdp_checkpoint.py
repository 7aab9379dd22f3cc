# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""A real FSDP2 checkpoint without a training: ``python make_fsdp_checkpoint.py DIR CLASS WORLD_SIZE``.

Makes DIR/base (a tiny model with tokenizer) and DIR/global_step_4/<actor or critic>, written by verl's own checkpoint
manager from WORLD_SIZE processes after one step of an optimizer. CLASS is Qwen3ForCausalLM or
Qwen3ForTokenClassification.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def make_tokenizer(tokens: int = 300) -> transformers.PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    specials = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=tokens, special_tokens=specials, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(
        [f"What is {a} + {b}? The answer is {a + b}." for a in range(9) for b in range(9)], trainer
    )
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|endoftext|>", chat_template=TEMPLATE
    )
    return fast


def make_model(class_name: str, tokenizer: transformers.PreTrainedTokenizerFast, **changes: object):
    torch.manual_seed(0)
    config = transformers.Qwen3Config(
        **{
            "vocab_size": 304,
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "head_dim": 8,
            "max_position_embeddings": 128,
            "tie_word_embeddings": False,
            "bos_token_id": None,
            "eos_token_id": tokenizer.eos_token_id,
            "pad_token_id": tokenizer.pad_token_id,
            "num_labels": 1,
            **changes,
        }  # fmt: skip
    )
    return getattr(transformers, class_name)(config)


def save(rank: int, root: Path, class_name: str, world_size: int) -> None:
    """One rank: load the base model, train a step, save as verl saves."""
    from omegaconf import OmegaConf
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from verl.utils.checkpoint.fsdp_checkpoint_manager import FSDPCheckpointManager

    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{root}/rendezvous", rank=rank, world_size=world_size
    )
    model = getattr(transformers, class_name).from_pretrained(root / "base", dtype=torch.float32)
    mesh = init_device_mesh("cpu", (world_size,), mesh_dim_names=("fsdp",))
    for layer in model.model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0)
    model(input_ids=torch.arange(16).reshape(2, 8)).logits.square().mean().backward()
    optimizer.step()
    scheduler.step()
    contents = ["model", "optimizer", "extra"]
    manager = FSDPCheckpointManager(
        model, optimizer, scheduler, transformers.AutoTokenizer.from_pretrained(root / "base"),
        checkpoint_config=OmegaConf.create({"save_contents": contents, "load_contents": contents}),
    )  # fmt: skip
    component = "critic" if class_name.endswith("TokenClassification") else "actor"
    manager.save_checkpoint(str(root / "global_step_4" / component), global_step=4)
    if rank == 0:
        torch.save({"weights": None}, root / "global_step_4" / "data.pt")
    full = {name: tensor.full_tensor() for name, tensor in model.state_dict().items()}
    if rank == 0:
        torch.save(full, root / "full.pt")
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def main() -> None:
    root, class_name, world_size = Path(sys.argv[1]).absolute(), sys.argv[2], int(sys.argv[3])
    tokenizer = make_tokenizer()
    make_model(class_name, tokenizer).to(torch.bfloat16).save_pretrained(root / "base")
    tokenizer.save_pretrained(root / "base")
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    torch.multiprocessing.start_processes(
        save, args=(root, class_name, world_size), nprocs=world_size, start_method="fork"
    )  # fmt: skip


if __name__ == "__main__":
    main()
