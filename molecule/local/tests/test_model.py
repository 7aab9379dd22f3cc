# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The merged model: it is what the shards say, it is not the initial model, and transformers uses it."""

from __future__ import annotations

import pytest

# Reads the shards by torch alone, without the merger: a distributed tensor's parts are joined along the dimension that
# its placement names.
REASSEMBLE = """
import glob, json, sys
import torch
import torch.distributed.tensor
from safetensors.torch import load_file

source, model = {source!r}, {model!r}
ranks = [
    torch.load(f"{{source}}/model_world_size_2_rank_{{rank}}.pt", map_location="cpu", weights_only=False)
    for rank in range(2)
]
merged = {{}}
for file in glob.glob(f"{{model}}/*.safetensors"):
    merged |= load_file(file)
wrong, split = [], 0
for name in ranks[0]:
    parts = [rank[name] for rank in ranks]
    (placement,) = parts[0].placements
    split += placement.is_shard()
    local = [part._local_tensor for part in parts]
    whole = torch.cat(local, dim=placement.dim) if placement.is_shard() else local[0]
    if name not in merged or not torch.equal(whole.to(torch.bfloat16), merged[name]):
        wrong.append(name)
print(json.dumps([wrong, sorted(set(merged) - set(ranks[0])), len(ranks[0]), split]))
"""

USE = """
import json
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

model, base = (AutoModelForCausalLM.from_pretrained(path) for path in ({model!r}, {base!r}))
tokenizer = AutoTokenizer.from_pretrained({model!r})
prompt = tokenizer("What is 3 + 4?", return_tensors="pt")
answer = model.generate(**prompt, max_new_tokens=5, do_sample=False)
initial = base.state_dict()
same = [name for name, value in model.state_dict().items() if torch.equal(value, initial[name].to(value.dtype))]
print(json.dumps([answer.shape[1] - prompt["input_ids"].shape[1], same]))
"""


@pytest.fixture(scope="module")
def model(verdict) -> dict:
    return verdict("model")["details"]


def test_it_is_the_newest_step_of_this_run(verdict, model):
    assert model["model_path"].startswith(verdict("training")["details"]["run_dir"])
    assert model["merge"]["step"] == verdict("checkpoint")["details"]["newest"] == 4


def test_nothing_half_made_lies_beside_it(host, model):
    path, _slash, name = model["model_path"].rpartition("/")
    assert set(host.file(path).listdir()) == {name, f"{name}.merge.log"}


def test_it_is_what_the_shards_say(python, model):
    program = REASSEMBLE.format(source=model["merge"]["source"], model=model["model_path"])
    wrong, additional, tensors, split = python(program)
    assert wrong == []
    assert additional == []
    assert tensors == model["tensors"]
    assert split > 0


def test_transformers_loads_it_and_it_was_trained(python, model):
    tokens, same = python(USE.format(model=model["model_path"], base=model["base"]["path"]))
    assert 1 <= tokens <= 5
    assert same == []
