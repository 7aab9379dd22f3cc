# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What is said about keys and values. That it agrees with the real verl is tested in tests/runtime."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.rlops.verl.plugins.module_utils import _config_keys, _hydra, _verdict

ROOT = Path(__file__).resolve().parents[4]
DOCUMENT = json.loads((ROOT / "roles/ppo_training/files/config_keys/0.9.1.json").read_text(encoding="utf-8"))

MODEL = "actor_rollout_ref.model"
ACTOR = "actor_rollout_ref.actor"
ROLLOUT = "actor_rollout_ref.rollout"


def table_for(overrides=None):
    return _config_keys.KeyTable.of(DOCUMENT, _hydra.flatten(overrides or {}))


def problems(overrides):
    """Name, level, found, wanted and remedy of all problems."""
    flat = _hydra.flatten(overrides)
    checks = _config_keys.check_keys(flat, _config_keys.KeyTable.of(DOCUMENT, flat), "my_overrides")
    assert _verdict.malformed(checks) is None
    return [check for check in checks if not check["ok"]]


def only(overrides):
    found = problems(overrides)
    assert len(found) == 1, found
    return found[0]


# --- keys ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "overrides",
    [
        {},
        {"trainer": {"nnodes": 2, "logger": "console", "total_training_steps": 10}},
        {f"{MODEL}.override_config": {"+attn_implementation": "sdpa"}},
        {f"+{ROLLOUT}.enable_sleep_mode": False},
        {"data.train_files": ["/a.parquet", "/b.parquet"], "data.val_files": "/c.parquet"},
        {"model_engine": "megatron", f"{ACTOR}.megatron.tensor_model_parallel_size": 2},
        {f"actor@{ACTOR}": "megatron_actor", f"{ACTOR}.megatron.seed": 1},
        {"~algorithm.pf_ppo": None},
        {"+optim@extra": "fsdp", "extra.lr": 1.0},
        {"~critic": None},
        {"data": ["legacy_data"]},
        {"trainer.default_local_dir": "/x/${trainer.experiment_name}/${oc.env:USER,nobody}"},
        {"hydra.run.dir": "/x", "hydra/launcher": "anything"},
        {"+ray_kwargs.ray_init.runtime_env.env_vars": {"A": "1"}},
        {"trainer.max_actor_ckpt_to_keep": None},
        {"algorithm.gamma": 1, "trainer.v1.separate_async.num_warmup_batches": 1.5},
    ],
)
def test_good_overrides_have_no_problem(overrides):
    assert problems(overrides) == []


def test_every_name_occurs_and_is_kebab_case():
    flat = _hydra.flatten({})
    checks = _config_keys.check_keys(flat, table_for(), "x")
    assert [check["name"] for check in checks] == [
        "override-values",
        "override-groups",
        "override-keys",
        "override-prefixes",
        "override-effects",
        "override-types",
        "override-choices",
        "override-interpolations",
    ]
    assert all(check["ok"] for check in checks)


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("trainer.nnode", ["trainer.nnodes"]),
        ("ray_init.num_cpus", ["ray_kwargs.ray_init.num_cpus"]),
        (f"{ACTOR}.checkpoint.contents", [f"{ACTOR}.checkpoint.save_contents", f"{ACTOR}.checkpoint.load_contents"]),
        ("critic.model.fsdp_config.param_offload", ["critic.fsdp.param_offload"]),
        (f"{ACTOR}.ppo_epoch", [f"{ACTOR}.ppo_epochs"]),
        ("actor.ppo_mini_batch_size", [f"{ACTOR}.ppo_mini_batch_size"]),
        ("traner.nnodes", ["trainer"]),
        ("save_freq", ["trainer.save_freq"]),
        (f"{ROLLOUT}.tensor_model_parallel", [f"{ROLLOUT}.tensor_model_parallel_size"]),
    ],
)
def test_unknown_keys_name_the_ones_that_are_meant(path, meant):
    check = only({path: 1})
    assert (check["name"], check["level"], check["found"]) == ("override-keys", "error", path)
    assert _config_keys.suggestions(path, table_for()) == meant
    assert all(name in check["remedy"] for name in ("my_overrides", f"`+{path}`", *meant))


def test_an_unknown_key_without_likeness_has_no_suggestion():
    check = only({"trainer.qqqqqqq": 1})
    assert check["remedy"] == "If your own code reads it, write `+trainer.qqqqqqq` in my_overrides."


def test_keys_of_another_engine_are_unknown():
    assert only({f"{ACTOR}.megatron.seed": 1})["name"] == "override-keys"
    assert only({"model_engine": "megatron", f"{ACTOR}.fsdp_config.seed": 1})["name"] == "override-keys"
    chosen = {f"actor@{ACTOR}": "megatron_actor"}
    assert only({**chosen, f"{ACTOR}.fsdp_config.seed": 1})["name"] == "override-keys"
    assert only({**chosen, "critic.megatron.seed": 1})["name"] == "override-keys"


@pytest.mark.parametrize(
    ("key", "wanted", "reason"),
    [
        (f"{MODEL}.override_config.a", f"+{MODEL}.override_config.a", "override_config has no such key yet"),
        (f"{ROLLOUT}.enable_sleep_mode", f"+{ROLLOUT}.enable_sleep_mode", "verl reads it"),
        ("trainer.wandb_proxy", "+trainer.wandb_proxy", "verl reads it"),
        ("+trainer.save_freq", "trainer.save_freq", "with the default -1"),
        ("+trainer", "trainer", "the key exists"),
    ],
)
def test_prefixes(key, wanted, reason):
    found = [check for check in problems({key: "x"}) if check["name"] == "override-prefixes"]
    assert [(check["level"], check["found"], check["wanted"]) for check in found] == [("error", key, wanted)]
    assert reason in found[0]["remedy"]
    assert f"Write `{wanted}` in my_overrides" in found[0]["remedy"]


@pytest.mark.parametrize(
    "path", ["trainer.anything", "trainer.resume_from_path", f"{ROLLOUT}.name", "trainer.logger.0"]
)
def test_nothing_to_delete(path):
    check = only({f"~{path}": None})
    assert (check["name"], check["found"]) == ("override-prefixes", f"~{path}")


@pytest.mark.parametrize(
    ("overrides", "found", "wanted"),
    [
        ({"model_engine": "fsdp"}, "model_engine: 'fsdp'", "one of dp, megatron, torchtitan, veomni"),
        ({f"actor@{ACTOR}": "x"}, f"actor@{ACTOR}: 'x'", "one of actor, dp_actor"),
        ({"actor": "dp_actor"}, "actor: 'dp_actor'", f"one of actor@{ACTOR}"),
        ({"critic": None}, "critic: None", "one of critic, dp_critic"),
        ({"data": "/x.parquet"}, "data: '/x.parquet'", "one of legacy_data"),
        ({"x@trainer": "y"}, "x@trainer: 'y'", "one of the groups actor,"),
        ({"++model_engine": "dp"}, "++model_engine: 'dp'", "no prefix"),
        ({"+model_engine": "dp"}, "+model_engine: 'dp'", "no prefix"),
        ({"~model_engine": None}, "~model_engine", "another key"),
    ],
)
def test_groups(overrides, found, wanted):
    check = only(overrides)
    assert (check["name"], check["level"], check["found"]) == ("override-groups", "error", found)
    assert check["wanted"].startswith(wanted)
    assert "my_overrides" in check["remedy"]


@pytest.mark.parametrize(
    ("path", "used"),
    [
        ("custom_reward_function.path", "reward.custom_reward_function.path"),
        ("reward_model.enable", "reward.reward_model.enable"),
        ("reward_model.reward_manager", "reward.reward_manager.name"),
        ("reward_model.model.path", "reward.reward_model.model_path"),
        ("reward_model.rollout.dtype", "reward.reward_model.rollout.dtype"),
        ("sandbox_fusion.url", "reward.sandbox_fusion.url"),
        ("+reward_model.reward_kwargs.x", "reward.reward_model.reward_kwargs.x"),
    ],
)
def test_keys_without_effect(path, used):
    check = only({path: "x"})
    assert (check["name"], check["level"], check["wanted"]) == ("override-effects", "error", used)


def test_added_keys_that_verl_does_not_know_are_advice():
    check = only({"+trainer.save_frequency": 1})
    assert (check["name"], check["level"], check["wanted"]) == ("override-effects", "warning", "trainer.save_freq")


def test_a_section_in_the_place_of_a_value_is_an_error():
    check = only({"+trainer.nnodes.x": 1})
    assert (check["name"], check["level"]) == ("override-effects", "error")
    assert "trainer.nnodes" in check["remedy"]


# --- values ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "value", "level", "wanted", "hint"),
    [
        ("trainer.total_epochs", "abc", "error", "a whole number", ""),
        ("trainer.total_epochs", "3", "error", "a whole number", "without quotes"),
        ("trainer.total_epochs", True, "error", "a whole number", ""),
        ("trainer.total_epochs", 1.5, "warning", "a whole number", ""),
        ("trainer.total_epochs", None, "warning", "a whole number", ""),
        (f"{ACTOR}.optim.lr", "1e-6", "error", "a number", "YAML reads 1e-6 as text and 1.0e-6 as a number"),
        (f"{ACTOR}.optim.lr", [1e-6], "error", "a number", ""),
        ("trainer.val_before_train", "false", "error", "true or false", "without quotes"),
        ("trainer.val_before_train", 1, "warning", "true or false", ""),
        ("trainer.val_before_train", 2, "error", "true or false", ""),
        ("trainer.experiment_name", 20261201, "error", "text", "with quotes"),
        ("trainer.logger", 1, "error", "a list or text", ""),
        (f"{ACTOR}.checkpoint.save_contents", "model", "error", "a list", ""),
        ("trainer.max_actor_ckpt_to_keep", "null", "error", "a whole number or null", "without quotes"),
        ("trainer.v1", 3, "error", "a dictionary", ""),
        ("trainer.v1", [], "error", "a dictionary", ""),
        ("trainer.v1", None, "warning", "a dictionary", ""),
        (f"{MODEL}.override_config", "sdpa", "error", "a dictionary", ""),
        (f"+{ROLLOUT}.enable_sleep_mode", "x", "error", "true or false", ""),
    ],
)
def test_types(path, value, level, wanted, hint):
    check = only({path: value})
    assert (check["name"], check["level"], check["wanted"]) == ("override-types", level, wanted)
    assert check["found"].startswith(f"{path.lstrip('+')}: {value!r}")
    assert hint in check["remedy"]


def test_interpolations_have_no_type():
    assert problems({"trainer.total_epochs": "${oc.decode:${oc.env:EPOCHS}}"}) == []


@pytest.mark.parametrize(
    ("path", "value", "found", "remedy"),
    [
        ("trainer.resume_mode", "never", "never", "Change it in my_overrides."),
        ("trainer.resume_mode", "resume-path", "resume-path", "Write resume_path in my_overrides."),
        ("trainer.logger", ["console", "wand"], "wand", "Write wandb in my_overrides."),
        ("trainer.logger", "tensorbord", "tensorbord", "Write tensorboard in my_overrides."),
        ("data.truncation", "up", "up", "Change it in my_overrides."),
    ],
)
def test_choices(path, value, found, remedy):
    check = only({path: value})
    assert (check["name"], check["level"], check["found"]) == ("override-choices", "error", f"{path}: {found}")
    assert check["remedy"] == remedy


@pytest.mark.parametrize(
    ("value", "remedy"),
    [
        ("${HOME}/x", "Write ${oc.env:HOME}: the configuration has no key HOME"),
        ("${trainer.projectname}", "Write ${trainer.project_name}: the configuration has no key trainer.projectname"),
        ("${.projectname}", "Write ${trainer.project_name}: the configuration has no key trainer.projectname"),
        ("${env:HOME}", "Use one of oc.create, "),
        ("${now:%Y}", "Use one of oc.create, "),
        ("${trainer.nnodes", "Close it with }"),
        ("${oc.env:HOME", "Close it with }"),
        ("${}", "Name a key in it"),
        ("a ${trainer.nnodes} ${HOME}", "Write ${oc.env:HOME}"),
        (r"\\${HOME}", "Write ${oc.env:HOME}"),
        (r"\${HOME}", "Write it without `${`: verl resolves its configuration twice"),
    ],
)
def test_interpolations_that_cannot_be_resolved(value, remedy):
    check = only({"trainer.experiment_name": value})
    assert (check["name"], check["level"]) == ("override-interpolations", "error")
    assert check["remedy"].startswith(remedy)
    assert only({"trainer.logger": ["console"], "+data.apply_chat_template_kwargs.x": [{"a": value}]})["name"] == (
        "override-interpolations"
    )


@pytest.mark.parametrize(
    "value",
    [
        "${trainer.project_name}",
        "${trainer}",
        "${.project_name}",
        "${..data.prompt_key}",
        "${trainer.logger.0}",
        "${oc.env:HOME}",
        "${oc.select:nothing,1}",
        "${mine.x}",
        "${trainer.${mine.x}}",
        "$HOME",
        "$(HOME)",
    ],
)
def test_interpolations_that_can(value):
    assert [c for c in problems({"trainer.experiment_name": value, "+mine.x": 1}) if "interpol" in c["name"]] == []


def test_a_section_that_was_added_is_told_once():
    found = problems({"+mine": {"a": 1, "b": {"c": 2}}, "+other": 3, "trainer": {"+more": {"d": 4, "e": 5}}})
    assert [check["found"].partition(",")[0] for check in found] == ["+mine", "+other", "+trainer.more"]


def test_values_that_hydra_cannot_express_are_all_reported():
    found = problems({"trainer.experiment_name": datetime.date(2026, 1, 31), "trainer.project_name": "a\0b"})
    values = [check for check in found if check["name"] == "override-values"]
    assert [check["found"] for check in values] == [
        "trainer.experiment_name: a value of the type date",
        "trainer.project_name: 'a\\x00b'",
    ]


def test_a_carriage_return_is_advice():
    check = only({"trainer.experiment_name": "x\r"})
    assert (check["name"], check["level"]) == ("override-values", "warning")


# --- the table -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("document", [None, [], {}, {"verl": "0.9.1", "keys": {}}])
def test_another_document_is_refused(document):
    with pytest.raises(_config_keys.KeyTableError, match="key table: found .*, wanted a dictionary with choices, "):
        _config_keys.KeyTable.of(document, {})


@pytest.mark.parametrize(
    ("path", "default"),
    [
        ("trainer.save_freq", -1),
        ("trainer", {}),
        (f"{ROLLOUT}.name", None),
        (f"{ACTOR}.rollout_n", 1),
        ("critic.ppo_mini_batch_size", 256),
        ("critic.ppo_micro_batch_size_per_gpu", None),
        (f"{ACTOR}.checkpoint.load_contents", ["model", "optimizer", "extra"]),
        (f"{ROLLOUT}.mtp", {}),
        (f"{ROLLOUT}.enable_sleep_mode", None),
        ("nothing", None),
    ],
)
def test_defaults_follow_interpolations(path, default):
    assert table_for().default(path) == default


@given(
    st.dictionaries(
        st.sampled_from(sorted(DOCUMENT["keys"])) | st.from_regex(r"\A(\+|\+\+)?[a-z]{1,3}(\.[a-z]{1,3}){0,2}\Z"),
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.lists(st.text(max_size=3)),
        max_size=5,
    )
)
def test_any_overrides_are_judged_without_an_exception(overrides):
    try:
        flat = _hydra.flatten(overrides)
    except _hydra.OverrideError:
        return
    checks = _config_keys.check_keys(flat, _config_keys.KeyTable.of(DOCUMENT, flat), "x")
    assert _verdict.malformed(checks) is None
