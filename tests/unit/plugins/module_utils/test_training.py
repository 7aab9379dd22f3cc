# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import datetime
import shlex

import pytest

from ansible_collections.rlops.verl.plugins.module_utils import _training
from ansible_collections.rlops.verl.plugins.module_utils._training import DeclarationError, input_checks, run_checks

DECLARED = {
    "name": "ppo", "release": "0.9.1", "nnodes": 2, "slots_per_node": "4", "model_path": "/m", "critic_model_path": "",
    "train_files": ["/t 1.parquet", "/t2.parquet"], "val_files": [], "overrides": {}, "env_vars": {}, "working_dir": "",
    "excludes": [], "runs_dir": "/runs/", "python": "/env/bin/python",
}  # fmt: skip


def plan(accelerator: dict | None = None, **changes: object) -> dict:
    return _training.plan({**DECLARED, **changes}, accelerator or {})


def refusal(**changes: object) -> str:
    with pytest.raises(DeclarationError) as caught:
        plan(**changes)
    return str(caught.value)


# ---- What follows from a declaration


def test_the_smallest_declaration():
    planned = plan()
    run_id = planned["id"]
    assert run_id.startswith("ppo-") and len(run_id) == len("ppo-") + 10
    assert planned["run_dir"] == f"/runs/ppo/{run_id}"
    assert planned["checkpoint_dir"] == f"/runs/ppo/{run_id}/checkpoints"
    assert planned["arguments"] == [
        "actor_rollout_ref.model.path=/m",
        "critic.model.path=/m",
        "data.train_files=['/t 1.parquet',/t2.parquet]",
        "data.val_files=['/t 1.parquet',/t2.parquet]",
        f"hydra.run.dir={planned['run_dir']}/hydra",
        f"trainer.default_local_dir={planned['checkpoint_dir']}",
        f"trainer.experiment_name={run_id}",
        "trainer.logger=[console]",
        "trainer.n_gpus_per_node=4",
        "trainer.nnodes=2",
        "trainer.project_name=ppo",
    ]
    command = ["/env/bin/python", "-m", "verl.trainer.main_ppo", *planned["arguments"]]
    assert shlex.split(planned["entrypoint"]) == command
    assert planned["overrides"]["trainer.nnodes"] == 2
    assert planned["runtime_env"] == {"env_vars": {}}
    assert planned["total_steps"] is None
    assert planned["shown"] == {"submission_id": run_id, "entrypoint": command, "runtime_env": {"env_vars": {}}}


def test_a_critic_and_a_validation_of_their_own():
    overrides = plan(critic_model_path="/c", val_files=["/v"])["overrides"]
    assert (overrides["critic.model.path"], overrides["data.val_files"]) == ("/c", ["/v"])


def test_the_users_overrides_win_over_derived_ones_and_these_over_the_accelerators():
    accelerator = {"trainer": {"device": "cpu", "nnodes": 9}, "data.seed": 1}
    overrides = plan(accelerator, overrides={"data": {"seed": 2}, "trainer.project_name": "mine"})["overrides"]
    assert (overrides["trainer.device"], overrides["trainer.nnodes"]) == ("cpu", 2)
    assert (overrides["data.seed"], overrides["trainer.project_name"]) == (2, "mine")


def test_the_user_may_place_checkpoints_and_files_of_hydra_elsewhere():
    planned = plan(overrides={"trainer": {"default_local_dir": "/ckpt"}, "hydra.run.dir": "/h"})
    assert planned["checkpoint_dir"] == "/ckpt"
    assert {"trainer.default_local_dir=/ckpt", "hydra.run.dir=/h"} <= set(planned["arguments"])
    assert planned["run_dir"].startswith("/runs/ppo/")


def test_names_of_the_training_may_stand_in_the_directory_of_checkpoints():
    place = "/ckpt/${trainer.project_name}/${trainer.experiment_name}"
    planned = plan(overrides={"trainer": {"default_local_dir": place}})
    assert planned["checkpoint_dir"] == f"/ckpt/ppo/{planned['id']}"
    assert f"trainer.default_local_dir='{place}'" in planned["arguments"]
    assert "found /x/${oc.env:HOME} as trainer.default_local_dir, wanted no interpolations but ${trainer.project" in (
        refusal(overrides={"trainer.default_local_dir": "/x/${oc.env:HOME}"})
    )


@pytest.mark.parametrize(
    "change",
    [
        {"name": "ppo2"},
        {"release": "0.9.2"},
        {"nnodes": 1},
        {"slots_per_node": 8},
        {"model_path": "/n"},
        {"critic_model_path": "/c"},
        {"train_files": ["/t"]},
        {"val_files": ["/v"]},
        {"overrides": {"data.seed": 1}},
        {"env_vars": {"A": "1"}},
        {"env_vars": {"HF_TOKEN": "1"}},
        {"working_dir": "/code"},
        {"excludes": ["*.log"]},
        {"working_dir_digest": "d"},
        {"accelerator": {"trainer.device": "cpu"}},
    ],
)
def test_another_training_has_another_id(change):
    assert plan(**change)["id"] != plan()["id"]


@pytest.mark.parametrize(
    "change",
    [
        {"nnodes": "2", "slots_per_node": 4},
        {"critic_model_path": "/m"},
        {"val_files": DECLARED["train_files"]},
        {"overrides": {"trainer": {"nnodes": 2}}},
        {"working_dir_digest": ""},
        {"runs_dir": "/elsewhere"},
        {"python": "/other/python"},
    ],
)
def test_the_same_training_said_in_another_way_has_the_same_id(change):
    assert plan(**change)["id"] == plan()["id"]


def test_the_order_of_keys_does_not_count():
    first = plan(overrides={"data": {"seed": 1, "shuffle": True}, "a.b": 1}, env_vars={"A": "1", "B": "2"})
    second = plan(overrides={"a": {"b": 1}, "data": {"shuffle": True, "seed": 1}}, env_vars={"B": "2", "A": "1"})
    assert first["id"] == second["id"]


@pytest.mark.parametrize(("value", "steps"), [(4, 4), (None, None), ("${data.steps}", None), (2.5, None)])
def test_the_number_of_steps_is_known_when_it_is_declared(value, steps):
    assert plan(overrides={"trainer": {"total_training_steps": value}})["total_steps"] == steps


@pytest.mark.parametrize("name", ["a", "A.b_c-1", "x" * 64])
def test_names(name):
    assert plan(name=name)["id"].startswith(f"{name}-")


@pytest.mark.parametrize("name", ["", "a b", "-a", "a.", ".", "a/b", "ä", "a\n", "x" * 65])
def test_names_that_make_no_directory_are_refused(name):
    assert refusal(name=name).startswith(f"ppo_training_name: found {name!r}, wanted letters")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"overrides": "a=1"}, "ppo_training_overrides: found str, wanted a dictionary"),
        ({"overrides": None}, "ppo_training_overrides: found NoneType"),
        ({"env_vars": ["A=1"]}, "ppo_training_env_vars: found list, wanted a dictionary"),
        ({"overrides": {"a": {"b": 1}, "a.b": 2}}, "ppo_training_overrides: override a.b: found it twice"),
        ({"overrides": {"a": object()}}, "ppo_training_overrides: override a: found"),
        ({"overrides": {"trainer": None}}, "ppo_training_overrides: found None as trainer.default_local_dir"),
        ({"overrides": {"~trainer.default_local_dir": None}}, "found None as trainer.default_local_dir"),
        ({"overrides": {"trainer.default_local_dir": 5}}, "found 5 as trainer.default_local_dir"),
    ],
)
def test_what_describes_no_training_is_refused(change, message):
    assert message in refusal(**change)


# ---- The job's environment


def test_variables_become_text_and_those_without_a_value_are_left_out():
    values = {"A": True, "B": 0, "C": " x ", "D": None, "E": 2.5, "F": datetime.date(2026, 12, 1)}
    env = plan(env_vars=values)["runtime_env"]
    assert env == {"env_vars": {"A": "1", "B": "0", "C": "x", "E": "2.5", "F": "2026-12-01"}}


def test_a_working_directory_comes_with_its_excludes():
    env = plan(working_dir="/code", excludes=("*.log",))["runtime_env"]
    assert env == {"working_dir": "/code", "excludes": ["*.log"], "env_vars": {}}
    assert list(plan(excludes=["*.log"])["runtime_env"]) == ["env_vars"]


def test_secrets_reach_the_job_and_are_not_shown():
    planned = plan(env_vars={"HF_TOKEN": "s3cret", "A": "b"}, working_dir="/code", working_dir_digest="d1")
    assert planned["runtime_env"]["env_vars"] == {"A": "b"}
    assert planned["secret_env_vars"] == {"HF_TOKEN": "s3cret"}
    assert planned["shown"]["runtime_env"]["env_vars"] == {"HF_TOKEN": "********", "A": "b"}
    assert planned["shown"]["working_dir_digest"] == "d1"
    assert "s3cret" not in planned["entrypoint"] + str(planned["shown"])


def test_a_renewed_secret_is_the_same_run_but_another_value_is_not():
    values = (("hf_token_1", "x"), ("hf_token_2", "x"), ("hf_token_1", "y"))
    ids = [plan(env_vars={"HF_TOKEN": token, "A": a})["id"] for token, a in values]
    assert ids[0] == ids[1] != ids[2]


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("SORT_KEY", "a", "b"),
        ("MAX_TOKEN", 512, 10240000),
        ("NO_TOKEN", True, False),
        ("KEY_FILE", "/a/key_1", "/a/key_2"),
    ],
)
def test_a_setting_with_the_name_of_a_secret_makes_another_run(name, before, after):
    assert plan(env_vars={name: before})["id"] != plan(env_vars={name: after})["id"]


# ---- Models and data

DIRECTORY = {"exists": True, "isdir": True, "readable": True}
FILE = {"exists": True, "isdir": False, "readable": True}


@pytest.mark.parametrize(
    ("variable", "path", "stat", "ok", "found"),
    [
        ("ppo_training_model_path", "/m", DIRECTORY, True, "/m"),
        ("ppo_training_model_path", "/m", FILE, False, "/m, which is a file"),
        ("ppo_training_model_path", "/m", None, False, "/m, which does not exist"),
        ("ppo_training_model_path", "/m", {"exists": False}, False, "/m, which does not exist"),
        ("ppo_training_model_path", "/m", {**DIRECTORY, "readable": False}, False, "/m, which this user may not read"),
        ("ppo_training_model_path", "/later", None, True, "/later, made by this run"),
        ("ppo_training_model_path", "Qwen/Qwen3-0.6B", None, True, "Qwen/Qwen3-0.6B, taken as a model of a hub"),
        ("ppo_training_model_path", "./m", None, False, "./m, a relative path"),
        ("ppo_training_model_path", "~/m", DIRECTORY, False, "~/m, a relative path"),
        ("ppo_training_train_files", "/t", FILE, True, "/t"),
        ("ppo_training_train_files", "/t", DIRECTORY, False, "/t, which is a directory"),
        ("ppo_training_train_files", "hdfs://x/t", None, True, "hdfs://x/t, taken as a remote file"),
    ],
)
def test_an_input(variable, path, stat, ok, found):
    (check,) = input_checks({variable: path}, {} if stat is None else {path: stat}, ["/later"])
    assert (check["name"], check["ok"], check["found"]) == (variable, ok, found)
    assert check["wanted"].startswith("a directory with config.json" if "model" in variable else "a file")
    assert ok or variable in check["remedy"]


@pytest.mark.parametrize("path", ["/m", "/m/"])
@pytest.mark.parametrize("exists", [True, False])
def test_a_model_has_its_configuration(path, exists):
    found = {path: DIRECTORY, "/m/config.json": {"exists": exists}}
    (check,) = input_checks({"ppo_training_model_path": path}, found, [])
    assert (check["ok"], check["found"]) == (exists, path if exists else f"{path}, a directory without config.json")


def test_each_path_of_a_variable_is_looked_at():
    checks = input_checks({"files": ["/a", "", "/b"], "others": ["/a"]}, {"/a": FILE}, [])
    assert [(check["name"], check["ok"]) for check in checks] == [("files", True), ("files", False), ("others", True)]


@pytest.mark.parametrize("nothing", ["", [], [""]])
def test_a_variable_without_a_path_fails(nothing):
    (check,) = input_checks({"files": nothing}, {}, [])
    assert (check["ok"], check["found"], check["remedy"]) == (False, "nothing", "Set files.")


# ---- A run that has ended


def run(status: str = "SUCCEEDED", **values: object) -> dict:
    return {"submission_id": "ppo-1", "status": status, "message": "", "error": "", "last_step": 4, **values}


JOB = ("job ppo-1", True, "SUCCEEDED")


@pytest.mark.parametrize(
    ("record", "total", "expected"),
    [
        (run(), 4, [JOB, ("training-steps", True, "last step 4")]),
        (run(), 5, [JOB, ("training-steps", False, "last step 4")]),
        (run(last_step=0, saved_step=4), 4, [JOB, ("training-steps", True, "last step 4")]),
        (run(last_step=1), 0, [JOB, ("training-steps", False, "last step 1")]),
        (run(), None, [JOB]),
        (run("FAILED", error="KeyError: x", message="exit 1"), 4, [("job ppo-1", False, "FAILED: KeyError: x")]),
        (run("FAILED", message="exit 1"), 4, [("job ppo-1", False, "FAILED: exit 1")]),
        (run("STOPPED"), None, [("job ppo-1", False, "STOPPED: no reason given")]),
        (run("RUNNING"), None, [("job ppo-1", False, "RUNNING: no reason given")]),
    ],
)
def test_a_run(record, total, expected):
    checks = run_checks(record, "/r/driver.log", total)
    assert [(check["name"], check["ok"], check["found"]) for check in checks] == expected
    assert all("/r/driver.log" in check["remedy"] for check in checks)
