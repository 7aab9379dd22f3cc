# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.rlops.verl.plugins.module_utils._checkpoint import audit_component, audit_run
from ansible_collections.rlops.verl.plugins.module_utils._checkpoint_reader import DiskReader, Entry
from ansible_collections.rlops.verl.tests.unit import fake_checkpoint


def audit(path: Path) -> dict:
    return audit_run(DiskReader(), str(path))


def actor(path: Path) -> dict:
    return audit_component(DiskReader(), str(path), "actor")


def test_a_whole_run(tmp_path):
    found = audit(fake_checkpoint.run(tmp_path, [2, 10]))
    assert [step["step"] for step in found["steps"]] == [2, 10]
    assert found["tracker"] == {"state": "valid", "step": 10, "text": "10"}
    assert found["misnamed"] == found["foreign"] == []
    step = found["steps"][1]
    assert step["data"] == "whole"
    assert set(step["components"]) == {"actor", "critic"}
    assert {(shard["kind"], shard["rank"]) for shard in step["components"]["actor"]["shards"]} == {
        (kind, rank) for kind in ("model", "optim", "extra_state") for rank in (0, 1)
    }
    assert not any(shard["problem"] for shard in step["components"]["actor"]["shards"])
    assert step["components"]["actor"]["fsdp_config"]["world_size"] == 2
    assert step["components"]["actor"]["huggingface"]["architectures"] == ["Qwen3ForCausalLM"]
    json.dumps(found)


def test_an_absent_directory(tmp_path):
    found = audit(tmp_path / "absent")
    assert (found["exists"], found["problem"], found["steps"]) == (False, "absent", [])


def test_a_file_in_the_place_of_the_directory(tmp_path):
    (tmp_path / "file").touch()
    found = audit(tmp_path / "file")
    assert found["exists"]
    assert "Not a directory" in found["problem"]


@pytest.mark.parametrize(
    ("content", "state"),
    [(b"", "empty"), (b" \n", "empty"), (b"4", "no such step"), (b"2\n", "valid"), (b"two", "not an integer"),
     (b"-2", "not an integer"), (b"2.0", "not an integer"), (b"\xff\x00", "not an integer"),
     ("\u0662".encode(), "not an integer")],
)  # fmt: skip
def test_the_tracker(tmp_path, content, state):
    fake_checkpoint.run(tmp_path, [2])
    (tmp_path / "latest_checkpointed_iteration.txt").write_bytes(content)
    assert audit(tmp_path)["tracker"]["state"] == state


def test_a_directory_in_the_place_of_the_tracker(tmp_path):
    (tmp_path / "latest_checkpointed_iteration.txt").mkdir()
    assert audit(tmp_path)["tracker"]["state"] == "unreadable"


@pytest.mark.parametrize(
    "name", ["global_steps_20", "global_step20", "Global_Step_2", "global_step_04", "globalstep-2"]
)
def test_names_that_look_like_steps(tmp_path, name):
    (tmp_path / name).mkdir()
    assert audit(tmp_path)["misnamed"] == [name]


def test_a_file_named_like_a_step_is_no_step(tmp_path):
    (tmp_path / "global_step_4").touch()
    found = audit(tmp_path)
    assert (found["steps"], found["misnamed"]) == ([], ["global_step_4"])


def test_foreign_files_are_named_at_every_level(tmp_path):
    fake_checkpoint.run(tmp_path, [2])
    for place in ("notes.txt", "global_step_2/rollouts.json", "global_step_2/actor/model_world_size_2_rank_0 (1).pt"):
        (tmp_path / place).touch()
    found = audit(tmp_path)
    assert found["foreign"] == ["notes.txt"]
    assert found["steps"][0]["foreign"] == ["rollouts.json"]
    assert found["steps"][0]["components"]["actor"]["foreign"] == ["model_world_size_2_rank_0 (1).pt"]


def broken_shard(tmp_path: Path, damage) -> str:
    directory = fake_checkpoint.component(tmp_path / "actor")
    path = directory / "model_world_size_2_rank_1.pt"
    damage(path)
    return next(item["problem"] for item in actor(directory)["shards"] if item["name"] == path.name)


def test_damaged_shards_say_what_is_wrong(tmp_path):
    assert broken_shard(tmp_path / "a", lambda path: path.write_bytes(b"")) == "empty file"
    assert "cut off" in broken_shard(tmp_path / "b", fake_checkpoint.cut)
    assert "cut off" in broken_shard(tmp_path / "c", lambda path: path.write_bytes(bytes(path.stat().st_size)))

    def replace_by(make):
        def damage(path):
            path.unlink()
            make(path)

        return damage

    assert "not a regular file" in broken_shard(tmp_path / "d", replace_by(lambda path: path.mkdir()))
    assert "not a regular file" in broken_shard(tmp_path / "e", replace_by(lambda path: path.symlink_to("gone")))
    assert "not a regular file" in broken_shard(tmp_path / "f", replace_by(os.mkfifo))


def test_a_link_to_a_whole_shard_is_whole(tmp_path):
    directory = fake_checkpoint.component(tmp_path / "actor")
    path = directory / "model_world_size_2_rank_1.pt"
    path.rename(tmp_path / "elsewhere.pt")
    path.symlink_to(tmp_path / "elsewhere.pt")
    assert not any(shard["problem"] for shard in actor(directory)["shards"])


@pytest.mark.parametrize(
    ("content", "problem"),
    [("", "empty file"), ("{", "not JSON"), ("[]", "a JSON list"), ('{"world_size": "2"}', "world_size is '2'"),
     ('{"world_size": 0}', "world_size is 0"), ('{"world_size": true}', "world_size is True"),
     ("{}", "world_size is None")],
)  # fmt: skip
def test_a_broken_fsdp_config(tmp_path, content, problem):
    directory = fake_checkpoint.component(tmp_path / "actor")
    (directory / "fsdp_config.json").write_text(content)
    config = actor(directory)["fsdp_config"]
    assert config["state"] == "broken"
    assert problem in config["problem"]


@pytest.mark.parametrize(
    ("config", "problem"),
    [({"architectures": None}, "null"), ({"architectures": []}, "[]"), ({}, "null"), ({"architectures": [1]}, "[1]"),
     ({"architectures": "X"}, '"X"')],
)  # fmt: skip
def test_architectures_that_say_nothing(tmp_path, config, problem):
    fake_checkpoint.rank_0_files(tmp_path, 2, config)
    assert [f"architectures in its config.json is {problem}"] == actor(tmp_path)["huggingface"]["problems"]


def test_a_missing_tokenizer_is_a_problem_since_one_would_be_made_up(tmp_path):
    fake_checkpoint.rank_0_files(tmp_path, 2)
    (tmp_path / "huggingface" / "tokenizer.json").unlink()
    (problem,) = actor(tmp_path)["huggingface"]["problems"]
    assert "made-up tokenizer" in problem


@pytest.mark.parametrize("name", ["tokenizer.model", "vocab.json", "vocab.txt", "spiece.model", "qwen.tiktoken"])
def test_other_vocabularies_are_known(tmp_path, name):
    fake_checkpoint.rank_0_files(tmp_path, 2)
    (tmp_path / "huggingface" / "tokenizer.json").rename(tmp_path / "huggingface" / name)
    assert actor(tmp_path)["huggingface"]["problems"] == []


def test_the_digest_of_configuration_and_tokenizer_leaves_weights_out(tmp_path):
    fake_checkpoint.rank_0_files(tmp_path, 2)
    before = actor(tmp_path)["huggingface"]["digest"]
    (tmp_path / "huggingface" / "model.safetensors").write_bytes(b"weights")
    assert actor(tmp_path)["huggingface"]["digest"] == before
    assert actor(tmp_path)["huggingface"]["has_weights"]
    (tmp_path / "huggingface" / "tokenizer.json").write_text("{}")
    assert actor(tmp_path)["huggingface"]["digest"] != before


def test_a_megatron_checkpoint_is_recognized(tmp_path):
    (tmp_path / "model" / "dist_ckpt").mkdir(parents=True)
    (tmp_path / "ckpt_contents.json").write_text("{}")
    assert actor(tmp_path)["layout"] == "megatron"


class Listing:
    """A reader of directories that exist in a dictionary only; no file of it is whole."""

    def __init__(self, tree: dict):
        self.tree = tree

    def entries(self, path: str) -> list[Entry]:
        place = self.tree
        for part in path.strip("/").split("/")[1:]:
            place = place[part]
        return [
            Entry(name, "directory") if isinstance(inner, dict) else Entry(name, "file", inner)
            for name, inner in sorted(place.items())
        ]

    def read_at(self, path: str, offset: int, length: int) -> bytes:
        raise PermissionError(13, "Permission denied", path)


NAMES = st.one_of(
    st.sampled_from(
        ["actor", "critic", "huggingface", "data.pt", "fsdp_config.json", "latest_checkpointed_iteration.txt"]
    ),
    st.from_regex(r"\A(model|optim|extra_state)_world_size_[0-9]{1,3}_rank_[0-9]{1,3}\.pt\Z"),
    st.from_regex(r"\Aglobal_steps?_[0-9]{1,4}\Z"),
    st.text(st.characters(blacklist_characters="/\0", blacklist_categories=("Cs",)), min_size=1, max_size=8),
)
TREES = st.recursive(
    st.integers(min_value=0, max_value=10**13), lambda inner: st.dictionaries(NAMES, inner, max_size=6)
)


@settings(max_examples=50)
@given(st.dictionaries(NAMES, TREES, max_size=8))
def test_every_name_is_accounted_for_whatever_lies_there(tree):
    found = audit_run(Listing(tree), "/run")
    named = {f"global_step_{step['step']}" for step in found["steps"]} | set(found["misnamed"]) | set(found["foreign"])
    assert named | {"latest_checkpointed_iteration.txt"} >= set(tree)
    for step in found["steps"]:
        for component in step["components"].values():
            # A file that cannot be read is never taken for whole.
            assert all(shard["problem"] for shard in component["shards"])
    json.dumps(found)
