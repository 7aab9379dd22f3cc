# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import json

import pytest

from ansible_collections.rlops.verl.plugins.module_utils import _checkpoint_merge
from ansible_collections.rlops.verl.plugins.module_utils._checkpoint import audit_component
from ansible_collections.rlops.verl.plugins.module_utils._checkpoint_merge import Destination, MergeError
from ansible_collections.rlops.verl.plugins.module_utils._checkpoint_reader import DiskReader
from ansible_collections.rlops.verl.tests.unit import fake_checkpoint

SOURCE = _checkpoint_merge.Source("/run/global_step_4/actor", 4, "actor", 2, (), "digest", 1 << 30)


@pytest.mark.parametrize(
    ("path", "found"),
    [("/r/global_step_40/actor", (40, "actor")), ("global_step_0/critic/", (0, "critic")),
     ("/a/global_step_1/ref", (1, "ref"))],
)  # fmt: skip
def test_step_and_component_of_a_path(path, found):
    assert _checkpoint_merge.step_and_component(path) == found


@pytest.mark.parametrize(
    "path", ["/r/global_step_40", "/r/actor", "/r/global_steps_4/actor", "/r/global_step_4/huggingface"]
)
def test_another_path_is_refused(path):
    with pytest.raises(MergeError, match="wanted the directory of one component"):
        _checkpoint_merge.step_and_component(path)


def source(path) -> _checkpoint_merge.Source:
    return _checkpoint_merge.source_of(audit_component(DiskReader(), str(path), "actor"), 4, 2)


def test_the_digest_of_a_source_stands_on_content_alone(tmp_path):
    one = source(fake_checkpoint.component(tmp_path / "one"))
    same = source(fake_checkpoint.component(tmp_path / "same"))
    other = source(fake_checkpoint.component(tmp_path / "other", step=6))
    assert one.digest == same.digest != other.digest
    fake_checkpoint.cut(tmp_path / "same" / "optim_world_size_2_rank_0.pt")
    assert source(tmp_path / "same").digest == one.digest, "optimizer states do not go into a merge"
    (tmp_path / "same" / "huggingface" / "tokenizer.json").write_text("{}")
    assert source(tmp_path / "same").digest != one.digest


@pytest.mark.parametrize(("element_bytes", "share"), [(4, 0.5), (8, 0.25), (2, 1), (None, 1)])
def test_the_size_of_the_output_follows_from_the_type_of_the_shards(tmp_path, element_bytes, share):
    component = audit_component(DiskReader(), str(fake_checkpoint.component(tmp_path / "actor")), "actor")
    models = [shard for shard in component["shards"] if shard["kind"] == "model"]
    for shard in models:
        shard["size"], shard["element_bytes"] = 1000, element_bytes
    assert _checkpoint_merge.source_of(component, 4, 2).output_bytes == 1000 * len(models) * share


def test_space():
    assert _checkpoint_merge.space_problem(2 << 30, SOURCE, "/models") == ""
    problem = _checkpoint_merge.space_problem(1 << 20, SOURCE, "/models")
    assert "found 1.0 MiB free at /models, wanted about 1.1 GiB" in problem


@pytest.mark.parametrize("kind", ["absent", "empty"])
def test_free_places_are_merged_to(kind):
    assert _checkpoint_merge.decide(Destination("/models/actor", kind), SOURCE) == "merge"


def test_the_merge_of_the_same_source_is_kept():
    there = Destination("/models/actor", "merged", {"source_digest": "digest"})
    assert _checkpoint_merge.decide(there, SOURCE) == "none"


@pytest.mark.parametrize(
    ("there", "words"),
    [
        (Destination("/m", "not a directory"), "not a directory"),
        (Destination("/m", "foreign", entries=("a", "b")), "with a, b and no rlops_merge.json"),
        (Destination("/m", "merged", {"source_digest": "x", "source": "/old"}), "merged from /old with other content"),
        (Destination("/m", "merged", {"source_digest": "digest"}, ("w is missing",)), "changed since.*w is missing"),
    ],
)
def test_whatever_is_in_the_way_is_refused_with_a_remedy(there, words):
    with pytest.raises(MergeError, match=words) as error:
        _checkpoint_merge.decide(there, SOURCE)
    assert "dest: found /m" in str(error.value)
    assert str(error.value).endswith((".", "again."))


def test_what_the_user_sets_in_the_environment_wins():
    environment = _checkpoint_merge.merger_environment(
        {"HOME": "/h", "HF_HUB_OFFLINE": "0"}, {"MKL_THREADING_LAYER": "TBB", "N": 1}
    )
    assert environment["HOME"] == "/h"
    assert environment["HF_HUB_OFFLINE"] == "1"
    assert environment["CUDA_VISIBLE_DEVICES"] == ""
    assert (environment["MKL_THREADING_LAYER"], environment["N"]) == ("TBB", "1")


def test_the_platform_of_the_training_is_left_out_unless_the_user_sets_it():
    """A platform that a plugin brings is unknown to a verl without plugins."""
    inherited = {"VERL_PLATFORM": "cpu"}
    assert "VERL_PLATFORM" not in _checkpoint_merge.merger_environment(inherited, {})
    assert _checkpoint_merge.merger_environment(inherited, {"VERL_PLATFORM": "amd"})["VERL_PLATFORM"] == "amd"


def failure(log: list[str], returncode: int | None = 1, free: int = 1 << 40) -> str:
    return _checkpoint_merge.failure_message(SOURCE, log, "/models/actor.merge.log", returncode, 60, free)


@pytest.mark.parametrize(
    ("line", "remedy"),
    [
        ("ModuleNotFoundError: No module named 'verl'", "Set python"),
        ("OSError: [Errno 28] No space left on device", "Free space"),
        (
            "ValueError: The checkpoint has model type `x` but Transformers does not recognize this architecture.",
            "too old",
        ),
        ("ValueError: Model architectures ['X'] failed to be inspected.", "too old"),
        ("AssertionError: Unsupported mesh_dim_names ('dp_shard',)", "plain FSDP and of HSDP"),
        ("RuntimeError: Sizes of tensors must match except in dimension 0.", "do not belong to one save"),
        ("RuntimeError: Incomplete Hugging Face model output at /x: no complete model weights", "save_lora_only"),
        ("RuntimeError: PytorchStreamReader failed reading zip archive", "damaged"),
    ],
)
def test_known_failures_have_a_remedy(line, remedy):
    message = failure(["Traceback (most recent call last):", "  File x", line])
    assert line in message
    assert remedy in message
    assert "/models/actor.merge.log" in message


def test_the_first_exception_is_named_not_the_one_that_followed():
    message = failure(
        [
            "FileNotFoundError: model_world_size_2_rank_1.pt",
            "During handling:",
            "ValueError: Repo id must be in the form",
        ]
    )
    assert message.startswith(
        "verl's merger failed on global_step_4/actor: FileNotFoundError: model_world_size_2_rank_1.pt."
    )


def test_ends_without_an_exception():
    assert "killed by signal 9. The kernel kills so when memory runs out" in failure([], -9)
    assert "killed by signal 15." in failure([], -15)
    assert "not done within 60 s" in failure(["half"], None)
    assert "exit code 3. Its log /models/actor.merge.log is empty." in failure([], 3)
    assert "no space left on the disk of /models/actor.merge.log. Free space" in failure([], 1, free=4096)


INDEX = "model.safetensors.index.json"
ONE = {"m.safetensors": {"a": "BF16"}}


def texts(**weight_map: str) -> dict[str, str]:
    """config.json, and an index that places tensors in files."""
    index = {INDEX: json.dumps({"weight_map": weight_map})} if weight_map else {}
    return {"config.json": "{}", **index}


def test_output_that_is_whole():
    assert _checkpoint_merge.output_problems(ONE, texts()) == []
    two = {**ONE, "n.safetensors": {"b": "BF16"}}
    assert _checkpoint_merge.output_problems(two, texts(a="m.safetensors", b="n.safetensors")) == []


@pytest.mark.parametrize(
    ("tensors", "written", "problem"),
    [
        ({}, texts(), "no weights"),
        ({"lora_adapter/adapter_model.safetensors": {"a": "BF16"}}, texts(), "no weights"),
        ({"m.safetensors": "cut off"}, texts(), "m.safetensors is cut off"),
        (ONE, {}, "config.json is missing or broken"),
        (ONE, {"config.json": "[]"}, "config.json is missing or broken"),
        (ONE, {**texts(), INDEX: "{"}, "index.json is broken"),
        (ONE, texts(b="n.safetensors"), "n.safetensors is missing"),
        (ONE, texts(b="m.safetensors"), "m.safetensors does not hold b"),
    ],
)
def test_output_that_is_not(tensors, written, problem):
    assert any(problem in found for found in _checkpoint_merge.output_problems(tensors, written))


NESTED = {"torch_dtype": "float32", "text_config": {"dtype": "float32"}, "quantization_config": {"dtype": "float32"}}


@pytest.mark.parametrize(
    ("config", "types", "after"),
    [
        ({"dtype": "float32"}, {"a": "BF16"}, {"dtype": "bfloat16"}),
        (NESTED, {"a": "BF16"}, {**NESTED, "torch_dtype": "bfloat16", "text_config": {"dtype": "bfloat16"}}),
        ({"dtype": "bfloat16"}, {"a": "BF16", "ids": "I64"}, None),
        ({"dtype": "float32"}, {"a": "BF16", "b": "F32"}, None),
        ({}, {"a": "BF16"}, None),
    ],
)
def test_the_declared_type_becomes_that_of_the_weights(config, types, after):
    text, adjusted = _checkpoint_merge.true_config(json.dumps(config), {"model.safetensors": types})
    assert json.loads(text) == (after or config)
    assert bool(adjusted) == (after is not None)


FILES = [{"path": "config.json", "size": 2, "mtime_ns": 5, "sha256": "s"}]


def test_a_manifest_is_read_back_and_its_digest_stands_on_content():
    manifest = _checkpoint_merge.make_manifest(SOURCE, {"verl": "0.9.1"}, FILES, "2026-12-01T00:00:00Z")
    later = _checkpoint_merge.make_manifest(SOURCE, {}, [{**FILES[0], "mtime_ns": 6}], "2027-01-01T00:00:00Z")
    assert manifest["digest"] == later["digest"]
    assert _checkpoint_merge.read_manifest(json.dumps(manifest)) == manifest
    assert "file: config.json  2 B" in _checkpoint_merge.describe(manifest)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"digest": "x"}', '{"digest": "x", "files": [1]}'])
def test_anything_else_is_no_manifest(text):
    assert _checkpoint_merge.read_manifest(text) == {}


@pytest.mark.parametrize(
    ("present", "content", "damage"),
    [
        ({"config.json": (2, 5)}, "never read", []),
        ({"config.json": (2, 9)}, "s", []),
        ({"config.json": (2, 9)}, "other", ["config.json has other content"]),
        ({"config.json": (3, 5)}, "s", ["config.json has 3 bytes, not 2"]),
        ({"more": (1, 1)}, "s", ["config.json is missing"]),
    ],
)
def test_damage(present, content, damage):
    assert _checkpoint_merge.manifest_damage({"files": FILES}, present, lambda path: content) == damage
