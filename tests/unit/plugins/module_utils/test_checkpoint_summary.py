# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.rlops.verl.plugins.module_utils._checkpoint import audit_run
from ansible_collections.rlops.verl.plugins.module_utils._checkpoint_checks import checkpoint_checks
from ansible_collections.rlops.verl.plugins.module_utils._checkpoint_reader import DiskReader
from ansible_collections.rlops.verl.plugins.module_utils._checkpoint_summary import (
    WrongStepError,
    _ranges,
    combine,
)
from ansible_collections.rlops.verl.plugins.module_utils._verdict import failed, malformed
from ansible_collections.rlops.verl.tests.unit import fake_checkpoint


def audits(*roots: Path) -> dict:
    """Audits of hosts a, b, ... as they come back from the hosts, through JSON."""
    found = {chr(ord("a") + index): audit_run(DiskReader(), str(root)) for index, root in enumerate(roots)}
    return json.loads(json.dumps(found))


def reasons(summary: dict, step: int = 4) -> str:
    return "; ".join(next(item["problems"] for item in summary["steps"] if item["step"] == step))


def two_hosts(tmp_path: Path, components: tuple[str, ...] = ("actor",)) -> tuple[Path, Path]:
    """Rank 0 on host b, rank 1 on host a, where the driver ran."""
    first, second = tmp_path / "a", tmp_path / "b"
    for name in components:
        fake_checkpoint.component(first / "global_step_4" / name, ranks=[1])
        fake_checkpoint.component(second / "global_step_4" / name, ranks=[0])
    fake_checkpoint.torch_file(first / "global_step_4" / "data.pt", {})
    (first / "latest_checkpointed_iteration.txt").write_text("4")
    return first, second


def test_one_host_with_everything(tmp_path):
    summary = combine(audits(fake_checkpoint.run(tmp_path, [2, 4])))
    assert (summary["newest"], summary["chosen"], summary["tracked"]) == (4, 4, 4)
    assert all(step["whole"] and step["mergeable"] and step["resumable"] for step in summary["steps"])
    assert summary["warnings"] == []
    assert not failed(checkpoint_checks(summary), "error") + failed(checkpoint_checks(summary), "warning")


def test_parts_on_two_hosts_make_a_whole(tmp_path):
    summary = combine(audits(*two_hosts(tmp_path)))
    assert summary["newest"] == 4
    actor = summary["steps"][0]["components"]["actor"]
    assert actor["ranks"]["model"] == {"0": ["b"], "1": ["a"]}
    assert actor["rank_0_hosts"] == ["b"]
    assert summary["steps"][0]["data_hosts"] == ["a"]


def test_one_of_the_hosts_alone_lacks_ranks_and_names_them(tmp_path):
    first, second = two_hosts(tmp_path)
    assert "model shard of rank 1 of 2 is not on a" in reasons(combine(audits(second)))
    text = reasons(combine(audits(first)))
    assert "model shard of rank 0 of 2 is not on a" in text
    assert "fsdp_config.json (written by rank 0) is not on a" in text
    assert "huggingface/ with configuration and tokenizer (written by rank 0) is not on a" in text


def test_a_shard_that_no_host_has_names_rank_and_hosts(tmp_path):
    first, second = two_hosts(tmp_path)
    (first / "global_step_4" / "actor" / "optim_world_size_2_rank_1.pt").unlink()
    summary = combine(audits(first, second))
    assert summary["newest"] is None
    assert reasons(summary) == "actor: optim shard of rank 1 of 2 is not on any of a, b"
    assert summary["steps"][0]["mergeable"], "the model can be merged without its optimizer"


def test_the_newest_whole_step_is_not_the_newest(tmp_path):
    fake_checkpoint.run(tmp_path, [2, 4, 6])
    fake_checkpoint.cut(tmp_path / "global_step_6" / "critic" / "model_world_size_2_rank_1.pt")
    summary = combine(audits(tmp_path))
    assert (summary["newest"], summary["chosen"]) == (4, 4)
    assert "critic: model_world_size_2_rank_1.pt on a is cut off" in reasons(summary, 6)
    (warning,) = failed(checkpoint_checks(summary), "warning")
    assert "step 6 is not whole" in warning["found"]


def test_only_the_wanted_components_count(tmp_path):
    fake_checkpoint.run(tmp_path, [2, 4])
    fake_checkpoint.cut(tmp_path / "global_step_4" / "critic" / "model_world_size_2_rank_1.pt")
    assert combine(audits(tmp_path), ["actor"])["newest"] == 4
    assert combine(audits(tmp_path), ["actor", "critic"])["newest"] == 2


def test_a_component_that_was_asked_for_has_to_be_there(tmp_path):
    summary = combine(audits(fake_checkpoint.run(tmp_path, [4], components=("actor",))), ["actor", "critic"])
    assert summary["newest"] is None
    assert reasons(summary) == "critic: not on a"


def test_a_step_that_was_asked_for(tmp_path):
    fake_checkpoint.run(tmp_path, [2, 4])
    assert combine(audits(tmp_path), step="2")["chosen"] == 2
    summary = combine(audits(tmp_path), step=3)
    assert summary["chosen"] is None
    (error,) = failed(checkpoint_checks(summary, 3), "error")
    assert (error["found"], error["remedy"]) == ("steps 2, 4", "Set checkpoint_merge_step to 4.")


def test_a_step_without_optimizer_states_can_be_merged_when_asked_for(tmp_path):
    fake_checkpoint.run(tmp_path, [4])
    fake_checkpoint.cut(tmp_path / "global_step_4" / "actor" / "optim_world_size_2_rank_1.pt")
    (error,) = failed(checkpoint_checks(combine(audits(tmp_path))), "error")
    assert "set checkpoint_merge_step to 4" in error["remedy"]
    summary = combine(audits(tmp_path), step=4)
    assert summary["chosen"] == 4
    assert [item["name"] for item in failed(checkpoint_checks(summary, 4), "warning")] == ["training state"]


@pytest.mark.parametrize("step", ["latest", "", "4.5", None])
def test_a_wrong_step_is_refused(tmp_path, step):
    with pytest.raises(WrongStepError, match="wanted newest or the number"):
        combine(audits(tmp_path), step=step)


def test_models_saved_alone_are_whole_but_not_resumable(tmp_path):
    fake_checkpoint.run(tmp_path, [4], components=("actor",))
    for path in (tmp_path / "global_step_4" / "actor").glob("[oe]*_rank_*.pt"):
        path.unlink()
    (step,) = combine(audits(tmp_path))["steps"]
    assert (step["whole"], step["resumable"]) == (True, False)


def actor_of(tmp_path: Path) -> Path:
    return fake_checkpoint.run(tmp_path, [4], components=("actor",)) / "global_step_4" / "actor"


def test_world_sizes_that_disagree(tmp_path):
    fake_checkpoint.shard(actor_of(tmp_path), "model", 4, 3)
    text = reasons(combine(audits(tmp_path)))
    assert "world sizes differ: 2 by file names on a, fsdp_config.json on a; 4 by file names on a" in text


def test_a_world_size_that_only_the_configuration_disagrees_with(tmp_path):
    (actor_of(tmp_path) / "fsdp_config.json").write_text('{"world_size": 8}')
    assert "2 by file names on a; 8 by fsdp_config.json on a" in reasons(combine(audits(tmp_path)))


def test_a_rank_beyond_the_world_size(tmp_path):
    fake_checkpoint.shard(actor_of(tmp_path), "model", 2, 7)
    assert "model shards of ranks 7 exceed the world size 2" in reasons(combine(audits(tmp_path)))


def test_swapped_ranks_are_noticed(tmp_path):
    directory = actor_of(tmp_path)
    zero, one = directory / "model_world_size_2_rank_0.pt", directory / "model_world_size_2_rank_1.pt"
    zero.rename(tmp_path / "swap")
    one.rename(zero)
    (tmp_path / "swap").rename(one)
    text = reasons(combine(audits(tmp_path)))
    assert "model_world_size_2_rank_0.pt on a holds the shard of rank 1" in text
    assert not combine(audits(tmp_path))["steps"][0]["mergeable"]


def test_a_rank_of_another_step_is_noticed(tmp_path):
    fake_checkpoint.component(actor_of(tmp_path), ranks=[1], step=2)
    summary = combine(audits(tmp_path))
    assert "not saved at the same step: optimizer steps 2 by rank 1 on a; 4 by rank 0 on a" in reasons(summary)
    assert not summary["steps"][0]["mergeable"]


def test_a_copy_on_a_second_host_is_no_problem_but_another_content_is(tmp_path):
    first, second = two_hosts(tmp_path)
    name = "global_step_4/actor/model_world_size_2_rank_1.pt"
    shutil.copy(first / name, second / name)
    os.utime(second / name, (1, 1))
    summary = combine(audits(first, second))
    assert summary["newest"] == 4
    assert summary["steps"][0]["components"]["actor"]["ranks"]["model"]["1"] == ["a", "b"]
    fake_checkpoint.shard(second / "global_step_4" / "actor", "model", 2, 1, step=6)
    assert "model shard of rank 1 is on a, b with different content" in reasons(combine(audits(first, second)))


def test_two_hosts_that_both_claim_rank_0_with_other_configurations(tmp_path):
    first, second = two_hosts(tmp_path)
    fake_checkpoint.rank_0_files(first / "global_step_4" / "actor", 2, {"architectures": ["LlamaForCausalLM"]})
    assert "huggingface/ differs between a, b" in reasons(combine(audits(first, second)))


def test_an_architecture_that_verl_does_not_merge(tmp_path):
    fake_checkpoint.rank_0_files(actor_of(tmp_path), 2, {"architectures": ["BertModel"]})
    assert "architecture BertModel on a is none that verl merges" in reasons(combine(audits(tmp_path)))


def test_a_megatron_checkpoint_is_refused_by_name(tmp_path):
    (tmp_path / "global_step_4" / "actor" / "dist_ckpt").mkdir(parents=True)
    assert "is a Megatron checkpoint" in reasons(combine(audits(tmp_path)))


def test_shards_much_younger_than_the_configuration_are_suspicious(tmp_path):
    directory = actor_of(tmp_path)
    for name in ("fsdp_config.json", "model_world_size_2_rank_0.pt"):
        os.utime(directory / name, (1000, 1000))
    os.utime(directory / "model_world_size_2_rank_1.pt", (9000, 9000))
    for path in directory.glob("[oe]*_rank_*.pt"):
        os.utime(path, (1000, 1000))
    summary = combine(audits(tmp_path))
    assert summary["newest"] == 4
    (warning,) = summary["steps"][0]["components"]["actor"]["warnings"]
    assert "ranks 1 are younger than fsdp_config.json" in warning


@pytest.mark.parametrize(("text", "words"), [("", "is empty"), ("x", "not an integer"), ("6", "of which no host")])
def test_a_tracker_that_misleads_is_a_warning(tmp_path, text, words):
    fake_checkpoint.run(tmp_path, [4])
    (tmp_path / "latest_checkpointed_iteration.txt").write_text(text)
    summary = combine(audits(tmp_path))
    assert summary["newest"] == 4
    (warning,) = summary["warnings"]
    assert words in warning


def test_a_tracker_on_a_host_without_ranks_is_right(tmp_path):
    first, second = two_hosts(tmp_path)
    driver = tmp_path / "driver"
    driver.mkdir()
    (first / "latest_checkpointed_iteration.txt").rename(driver / "latest_checkpointed_iteration.txt")
    summary = combine(audits(first, second, driver))
    assert (summary["tracked"], summary["warnings"]) == (4, [])


def test_trackers_of_different_steps_and_none_at_all(tmp_path):
    first, second = two_hosts(tmp_path)
    (second / "latest_checkpointed_iteration.txt").write_text("2")
    assert any("different steps: 2, 4" in text for text in combine(audits(first, second))["warnings"])
    for host in (first, second):
        (host / "latest_checkpointed_iteration.txt").unlink()
    assert any("no host has the tracker" in text for text in combine(audits(first, second))["warnings"])


def test_components_kept_at_different_steps(tmp_path):
    fake_checkpoint.run(tmp_path, [2, 4])
    shutil.rmtree(tmp_path / "global_step_2" / "actor")
    summary = combine(audits(tmp_path))
    assert summary["newest"] == 4
    assert "not kept at the same steps: actor 4; critic 2, 4" in summary["warnings"][0]


def test_an_absent_directory_and_an_empty_one(tmp_path):
    summary = combine(audits(tmp_path / "absent"))
    assert not summary["exists"]
    (error,) = failed(checkpoint_checks(summary), "error")
    assert (error["found"], error["remedy"]) == ("absent", "Set checkpoint_merge_source to it.")
    (error,) = failed(checkpoint_checks(combine(audits(tmp_path))), "error")
    assert (error["found"], "trainer.save_freq" in error["remedy"]) == ("no step", True)


@given(st.sets(st.integers(min_value=0, max_value=3)), st.sets(st.integers(min_value=0, max_value=3)))
def test_a_step_is_whole_exactly_when_the_hosts_have_all_ranks_together(tmp_path_factory, one, other):
    root = tmp_path_factory.mktemp("run")
    for name, ranks in (("a", one), ("b", other)):
        fake_checkpoint.component(root / name / "global_step_4" / "actor", 4, sorted(ranks))
    summary = combine(audits(root / "a", root / "b"), ["actor"])
    assert (summary["newest"] == 4) == (one | other == {0, 1, 2, 3})
    for item in checkpoint_checks(summary):
        assert malformed([item]) is None


@given(st.sets(st.integers(min_value=0, max_value=40), min_size=1))
def test_ranges_name_every_number(numbers):
    named = set()
    for part in _ranges(numbers).split(", "):
        first, _dash, last = part.partition("-")
        named |= set(range(int(first), int(last or first) + 1))
    assert named == numbers
