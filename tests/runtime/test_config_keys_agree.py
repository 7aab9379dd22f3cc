# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The committed key table, and what the collection says about overrides, against the real verl and the real Hydra.

Runs in an environment with verl: ``make runtime-tests``, or this file as a program, with the folder that has
``ansible_collections`` in PYTHONPATH.
"""

from __future__ import annotations

import copy
import functools
import json
import random
import unittest
from importlib.metadata import version

from hydra import compose, initialize_config_dir
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException, InstantiationException
from omegaconf import OmegaConf, open_dict
from omegaconf.errors import InterpolationKeyError, OmegaConfBaseException
from verl.trainer.ppo.utils import need_critic, need_reference_policy
from verl.utils.config import validate_config

from ansible_collections.rlops.verl.plugins.module_utils import _config_keys, _hydra, _training_checks
from ansible_collections.rlops.verl.tests.tools import make_config_keys

PARSER = OverridesParser.create()

OK, UNKNOWN, NEEDS_PLUS = _config_keys.OK, _config_keys.UNKNOWN, _config_keys.NEEDS_PLUS
EXISTS, ABSENT, GROUP = _config_keys.EXISTS, _config_keys.ABSENT, _config_keys.GROUP

MODEL = "actor_rollout_ref.model"
ACTOR = "actor_rollout_ref.actor"
ROLLOUT = "actor_rollout_ref.rollout"

# Override, and what is to be said about it. The second column is also what Hydra does; see `real_verdict`.
SAMPLE = [
    # Keys that exist
    ({"trainer.nnodes": 2}, OK),
    ({"trainer": {"save_freq": 5, "logger": ["console"]}}, OK),
    ({f"{ROLLOUT}.name": "vllm"}, OK),
    ({f"{MODEL}.path": "~/x"}, OK),
    ({"trainer.logger.1": "file"}, OK),
    ({f"{ACTOR}.optim.lr": 1e-6}, OK),
    ({"critic.ppo_micro_batch_size_per_gpu": 4}, OK),
    ({"trainer.resume_from_path": "/x/global_step_4"}, OK),
    ({f"{MODEL}.override_config": {}}, OK),
    ({"data": {}}, OK),
    ({"trainer": None}, OK),
    ({"custom_reward_function.path": "/x.py"}, OK),
    ({"reward_model.enable": True}, OK),
    ({"reward.custom_reward_function.path": "/x.py"}, OK),
    ({"transfer_queue.backend.SimpleStorage.num_data_storage_units": 1}, OK),
    ({"global_profiler.global_tool_config.nsys.worker_nsight_options.cuda-memory-usage": "false"}, OK),
    ({"ray_kwargs.ray_init.num_cpus": 4}, OK),
    ({f"{ROLLOUT}.mtp": None}, OK),
    # Keys that do not
    ({"trainer.nnode": 2}, UNKNOWN),
    ({"ray_init.num_cpus": 4}, UNKNOWN),
    ({f"{ACTOR}.checkpoint.contents": ["model"]}, UNKNOWN),
    ({"actor.ppo_mini_batch_size": 4}, UNKNOWN),
    ({f"{ACTOR}.ppo_epoch": 1}, UNKNOWN),
    ({f"{ACTOR}.megatron.tensor_model_parallel_size": 2}, UNKNOWN),
    ({"critic.model.fsdp_config.param_offload": True}, UNKNOWN),
    ({"trainer.nnodes.x": 1}, UNKNOWN),
    ({"trainer.logger.2": "file"}, UNKNOWN),
    ({"+trainer.logger.2": "file"}, UNKNOWN),
    ({"trainer.logger.x": "file"}, UNKNOWN),
    ({"+trainer.logger.x": "file"}, UNKNOWN),
    ({"trainer.logger.0.x": "file"}, UNKNOWN),
    ({"+trainer.logger.0.x": "file"}, OK),
    ({"~trainer.logger.2": None}, ABSENT),
    ({"~trainer.logger.x": None}, ABSENT),
    ({"++trainer.logger.2": "file"}, UNKNOWN),
    ({f"{ROLLOUT}.mtp.enable": True}, UNKNOWN),
    ({f"{ROLLOUT}.qat.enable": True}, UNKNOWN),
    ({"$x": 1}, UNKNOWN),
    # Keys that have to be added
    ({f"{MODEL}.override_config.attn_implementation": "sdpa"}, NEEDS_PLUS),
    ({f"{MODEL}.override_config.rope.factor": 4.0}, NEEDS_PLUS),
    ({f"{ROLLOUT}.engine_kwargs.vllm.attention_backend": "FLASHINFER"}, NEEDS_PLUS),
    ({f"{ROLLOUT}.enable_sleep_mode": False}, NEEDS_PLUS),
    ({f"{ACTOR}.optim.override_optimizer_config.amsgrad": True}, NEEDS_PLUS),
    ({f"{ACTOR}.ppo_infer_micro_batch_size_per_gpu": 4}, NEEDS_PLUS),
    ({"ray_kwargs.ray_init.runtime_env.env_vars.A": "1"}, NEEDS_PLUS),
    ({"trainer.wandb_proxy": "x"}, NEEDS_PLUS),
    ({"data.apply_chat_template_kwargs.enable_thinking": False}, NEEDS_PLUS),
    ({"trainer.v1.sampler.sampler_kwargs.a": 1}, NEEDS_PLUS),
    ({"trainer.resume_from_path.x": 1}, NEEDS_PLUS),
    # Additions that Hydra takes
    ({f"+{MODEL}.override_config.attn_implementation": "sdpa"}, OK),
    ({f"+{MODEL}.override_config": {"rope": {"type": "yarn", "factor": 4.0}}}, OK),
    ({f"+{ROLLOUT}.engine_kwargs.vllm.attention_backend": "FLASHINFER"}, OK),
    ({"+trainer.anything": 1}, OK),
    ({"+a.b.c": 1}, OK),
    ({"+a.0": 1}, OK),
    ({"+trainer.logger": ["console"]}, OK),
    ({"+trainer.v1": {}}, OK),
    ({"+trainer.resume_from_path": "/x/global_step_1"}, OK),
    ({f"+{ROLLOUT}.name": "vllm"}, OK),
    ({"+critic.ppo_micro_batch_size_per_gpu": 4}, OK),
    ({"+trainer.nnodes.x": 1}, OK),
    ({f"+{ROLLOUT}.mtp.foo": True}, OK),
    ({"++trainer.nnodes": 1}, OK),
    ({"++trainer.anything": 1}, OK),
    ({"++trainer.nnodes.x": 1}, OK),
    # and that it does not
    ({"+trainer.nnodes": 2}, EXISTS),
    ({"+trainer.project_name": "x"}, EXISTS),
    ({"+trainer": 3}, EXISTS),
    ({"+trainer.logger.0": "x"}, EXISTS),
    ({f"+{ACTOR}.rollout_n": 2}, EXISTS),
    ({f"+{ROLLOUT}.mtp": 1}, EXISTS),
    ({f"+{ROLLOUT}.qat": 1}, EXISTS),
    ({"model_engine": "torchtitan", f"+{ROLLOUT}.qat": 1}, OK),
    # Deletions
    ({"~trainer.logger": None}, OK),
    ({"~trainer.v1": None}, OK),
    ({"~trainer.v1.sync": None}, OK),
    ({f"~{ROLLOUT}.mtp": None}, OK),
    ({"~trainer.resume_from_path": None}, ABSENT),
    ({"~trainer.anything": None}, ABSENT),
    ({f"~{ROLLOUT}.name": None}, ABSENT),
    ({"~critic.ppo_micro_batch_size_per_gpu": None}, ABSENT),
    ({"~trainer.logger.0": None}, ABSENT),
    ({f"~{MODEL}.override_config.x": None}, ABSENT),
    # Config groups
    ({"model_engine": "megatron"}, OK),
    ({"model_engine": "megatron", f"{ACTOR}.megatron.tensor_model_parallel_size": 2}, OK),
    ({"model_engine": "megatron", f"{ACTOR}.fsdp_config.param_offload": True}, UNKNOWN),
    ({"model_engine": "veomni", "critic.veomni.seed": 1}, OK),
    ({"model_engine": "torchtitan", f"+{ACTOR}.torchtitan.seed": 1}, EXISTS),
    ({f"actor@{ACTOR}": "megatron_actor", f"{ACTOR}.megatron.seed": 1}, OK),
    ({"ref@actor_rollout_ref.ref": "veomni_ref", "actor_rollout_ref.ref.veomni.seed": 1}, OK),
    ({f"actor@{ACTOR}": "actor"}, OK),
    ({"critic": "megatron_critic"}, OK),
    ({"data": ["legacy_data"]}, OK),
    ({f"model@{MODEL}": "hf_model"}, OK),
    ({"+optim@extra": "fsdp", "extra.lr": 1.0}, OK),
    ({"~critic": None}, OK),
    ({f"~rollout@{ROLLOUT}": None}, OK),
    ({"hydra.run.dir": "/tmp/x"}, OK),
    ({"hydra/job_logging": "disabled"}, OK),
    ({"model_engine": "fsdp"}, GROUP),
    ({"model_engine": None}, GROUP),
    ({"+model_engine": "megatron"}, GROUP),
    ({"++model_engine": "megatron"}, GROUP),
    ({"~model_engine": None}, GROUP),
    ({f"actor@{ACTOR}": "x"}, GROUP),
    ({"actor": "dp_actor"}, GROUP),
    ({"critic": None}, GROUP),
    ({"critic@critic": "dp_critic"}, GROUP),
    ({"data": "/x.parquet"}, GROUP),
    ({"data": ["legacy_data", "x"]}, GROUP),
    ({f"optim@{ACTOR}.optim": "megatron"}, GROUP),
    ({"actor_rollout_ref/actor": "dp_actor"}, GROUP),
    ({"nothing@trainer": "x"}, GROUP),
]

# What a user may write, with values that are easily spoiled on the way.
RICH = {
    "trainer": {
        "nnodes": 2,
        "n_gpus_per_node": 8,
        "experiment_name": "20261201",
        "project_name": "a, b=c \"d\" 'e' #f $g \\h (i) [j] {k} ~l é 😀 \\",
        "default_local_dir": "/ckpt/${trainer.experiment_name}",
        "logger": ["console", "file"],
        "save_freq": 2,
        "total_training_steps": None,
        "val_before_train": False,
    },
    "actor_rollout_ref": {
        "model": {"path": "/m/Qwen3 0.6B", "override_config": {"+attn_implementation": "sdpa"}},
        "actor.optim.lr": 1e-06,
        "rollout": {"name": "hf", "engine_kwargs.vllm": {"+limit": {"image": 1, "note": "line\nend\r\n\t"}}},
    },
    "data.train_files": ["/d/a b.parquet", "s3://x/${data.prompt_key}.parquet", r"/d/\${literal}"],
    "+reward.reward_kwargs": {"stages": [{"a b": "x:y", "n": [1, 1.5, None, True, "null"]}]},
    "~algorithm.pf_ppo": None,
    "++trainer.wandb_proxy": "http://x:1/?a=b&c",
}


def arguments(overrides):
    return _hydra.to_arguments(_hydra.flatten(overrides))


class WithVerl(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        release = version("verl")
        cls.path = make_config_keys.TABLES / f"{release}.json"
        cls.document = json.loads(cls.path.read_text(encoding="utf-8"))
        context = initialize_config_dir(str(make_config_keys.CONFIG), version_base=None)
        context.__enter__()
        cls.addClassCleanup(context.__exit__, None, None, None)

    def our_verdict(self, overrides):
        """The first verdict that is not ok."""
        flat = _hydra.flatten(overrides)
        table = _config_keys.KeyTable.of(self.document, flat)
        return next((verdict for o in flat.values() if (verdict := _config_keys.judge(o, table)) != OK), OK)


@functools.cache
def composed(*chosen):
    return compose("ppo_trainer", list(chosen))


def apply(overrides, document):
    """What Hydra does with overrides: it composes the chosen groups, then applies the others one by one.

    Composing takes a second, so configurations with the same groups are composed once.
    """
    flat = _hydra.flatten(overrides)
    groups = {path: o for path, o in flat.items() if _config_keys.names_group(o, document) or path.startswith("hydra")}
    config = copy.deepcopy(composed(*_hydra.to_arguments(groups)))
    others = _hydra.to_arguments({path: o for path, o in flat.items() if path not in groups})
    ConfigLoaderImpl._apply_overrides_to_config(PARSER.parse_overrides(others), config)


def real_verdict(overrides, document):
    """The outcome in the words of the key check: Hydra does not tell unknown keys from those that need a plus."""
    try:
        apply(overrides, document)
    except TypeError as error:  # `~list.0`: Hydra does not delete items
        return {ABSENT} if "list indices" in str(error) else {error}
    except ValueError as error:
        kinds = {"Config group override must be": {GROUP}, "invalid literal for int()": {UNKNOWN}}
        return next((verdict for text, verdict in kinds.items() if text in str(error)), {error})
    except (HydraException, OmegaConfBaseException) as error:
        text = f"{error} {error.__cause__}"
        if "Could not append to config" in text:
            return {EXISTS}
        if "Could not delete from config" in text:
            return {ABSENT}
        if "To append to your config use +" in text:
            return {
                UNKNOWN,
                NEEDS_PLUS,
                GROUP,
            }  # a group of that name that is chosen nowhere is an unknown key to Hydra
        if "list index out of range" in text or "is not an int" in text:
            return {UNKNOWN, ABSENT}
        return {GROUP}
    return {OK}


class TestAgreement(WithVerl):
    def test_verdicts_are_those_of_hydra(self):
        self.assertGreaterEqual(len(SAMPLE), 60)
        for overrides, expected in SAMPLE:
            with self.subTest(overrides=overrides):
                self.assertEqual(self.our_verdict(overrides), expected)
                self.assertIn(expected, real_verdict(overrides, self.document))

    def test_what_hydra_refuses_is_an_error_and_the_rest_is_none_of_the_keys(self):
        names = {"override-keys", "override-prefixes", "override-groups"}
        for overrides, expected in SAMPLE:
            with self.subTest(overrides=overrides):
                checks = _training_checks.check_overrides(_hydra.flatten(overrides), self.document)
                refused = any(
                    not check["ok"] and check["level"] == "error" for check in checks if check["name"] in names
                )
                self.assertEqual(refused, expected != OK)

    def test_all_prefixes_on_many_keys(self):
        """Keys of the table, and keys beside and below them, with every prefix and every engine."""
        chance = random.Random(0)
        for engine in self.document["groups"]["model_engine"]:
            table = _config_keys.KeyTable.of(self.document, _hydra.flatten({"model_engine": engine}))
            paths = sorted({*table.entries, *table.sections} - set(self.document["groups"]))
            tried = [changed for path in chance.sample(paths, 10) for changed in (path, f"{path}x", f"{path}.x")]
            for key in [f"{prefix}{path}" for path in tried for prefix in ("", "+", "++", "~")]:
                overrides = {"model_engine": engine, key: None if key.startswith("~") else 1}
                with self.subTest(engine=engine, override=key):
                    self.assertIn(self.our_verdict(overrides), real_verdict(overrides, self.document))


class TestTable(WithVerl):
    def test_the_committed_table_is_that_of_the_installed_verl(self):
        # Recreates it from verl; to update it, run tests/tools/make_config_keys.py in this environment.
        self.assertEqual(
            self.path.read_text(encoding="utf-8"), make_config_keys.dump(make_config_keys.make_table()) + "\n"
        )

    def test_defaults_are_those_of_the_composed_configuration(self):
        for engine in self.document["groups"]["model_engine"]:
            config = compose("ppo_trainer", [f"model_engine={engine}"])
            settings = _training_checks.Settings(
                flat := _hydra.flatten({"model_engine": engine}), _config_keys.KeyTable.of(self.document, flat), "x"
            )
            for path in settings.table.known():
                if path in settings.table.sections or "${" in str(settings.get(path)):
                    continue
                with self.subTest(engine=engine, path=path):
                    real = OmegaConf.select(config, path)
                    real = OmegaConf.to_container(real) if OmegaConf.is_config(real) else real
                    found = settings.get(path)
                    # Of an interpolated section only the presence is known.
                    self.assertEqual(found, {} if isinstance(real, dict) else real)


class TestComposition(WithVerl):
    def test_rich_overrides_arrive(self):
        config = compose("ppo_trainer", arguments(RICH))
        OmegaConf.resolve(config)
        self.assertEqual(config.trainer.experiment_name, "20261201")
        self.assertEqual(config.trainer.project_name, RICH["trainer"]["project_name"])
        self.assertEqual(config.trainer.default_local_dir, "/ckpt/20261201")
        self.assertEqual(config.trainer.wandb_proxy, "http://x:1/?a=b&c")
        self.assertIs(config.trainer.val_before_train, False)
        self.assertIsNone(config.trainer.total_training_steps)
        self.assertEqual(config.actor_rollout_ref.model.path, "/m/Qwen3 0.6B")
        self.assertEqual(config.actor_rollout_ref.model.override_config, {"attn_implementation": "sdpa"})
        self.assertEqual(config.actor_rollout_ref.actor.optim.lr, 1e-06)
        self.assertEqual(
            config.actor_rollout_ref.rollout.engine_kwargs.vllm, {"limit": {"image": 1, "note": "line\nend\r\n\t"}}
        )
        self.assertEqual(config.data.train_files, ["/d/a b.parquet", "s3://x/prompt.parquet", "/d/${literal}"])
        self.assertEqual(config.reward.reward_kwargs, RICH["+reward.reward_kwargs"])
        self.assertNotIn("pf_ppo", config.algorithm)
        # verl does so again, which is why escaped text is refused below.
        with self.assertRaisesRegex(InterpolationKeyError, "'literal' not found"):
            OmegaConf.resolve(config)

    def test_rich_overrides_have_no_problem_of_keys_but_for_the_escaped_text(self):
        checks = _training_checks.check_overrides(_hydra.flatten(RICH), self.document)
        wrong = [check for check in checks if check["name"].startswith("override-") and not check["ok"]]
        self.assertEqual([check["level"] for check in wrong], ["warning", "error"], wrong)
        self.assertIn("carriage return", wrong[0]["found"])
        self.assertEqual(wrong[1]["found"], r"data.train_files: /d/\${literal}")


class TestBatchSizes(WithVerl):
    """Rules about values, against verl's own validate_config, which the driver calls on a node."""

    FITTING = {
        "trainer": {
            "nnodes": 1,
            "n_gpus_per_node": 2,
            "save_freq": 1,
            "default_local_dir": "/x/${trainer.experiment_name}",
        },
        "data.train_batch_size": 8,
        ACTOR: {"ppo_mini_batch_size": 8, "ppo_micro_batch_size_per_gpu": 4},
        ROLLOUT: {"name": "hf", "tensor_model_parallel_size": 1, "log_prob_micro_batch_size_per_gpu": 4},
        "critic.ppo_micro_batch_size_per_gpu": 4,
    }
    DYNAMIC = {f"{ACTOR}.use_dynamic_bsz": True, f"{ACTOR}.ppo_micro_batch_size_per_gpu": None}
    CHANGES = [
        ({}, OK),
        ({"data.train_batch_size": 9}, "refused"),
        ({"data.train_batch_size": 4}, "refused"),
        ({f"{ROLLOUT}.n": 2, "data.train_batch_size": 9}, OK),
        ({"trainer.nnodes": 3}, "refused"),
        ({f"{ACTOR}.ppo_micro_batch_size_per_gpu": None}, "refused"),
        ({f"{ACTOR}.ppo_micro_batch_size": 4}, "refused"),
        ({"critic.ppo_micro_batch_size": 4}, "refused"),
        ({"critic.ppo_micro_batch_size_per_gpu": None}, "refused"),
        ({"critic.ppo_micro_batch_size_per_gpu": None, "algorithm.adv_estimator": "grpo"}, OK),
        ({"critic.ppo_micro_batch_size_per_gpu": None, "critic.enable": False}, OK),
        ({"critic.ppo_mini_batch_size": 16}, "refused"),
        ({f"{ROLLOUT}.log_prob_micro_batch_size_per_gpu": None}, "refused"),
        ({f"{ROLLOUT}.log_prob_micro_batch_size": 4}, "refused"),
        ({f"{ACTOR}.use_kl_loss": True}, "refused"),
        ({f"{ACTOR}.use_kl_loss": True, "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu": 4}, OK),
        ({**DYNAMIC, f"{ROLLOUT}.log_prob_micro_batch_size_per_gpu": None}, OK),
        ({**DYNAMIC, "data.train_batch_size": 7}, OK),
        ({**DYNAMIC, "critic": {"use_dynamic_bsz": False, "ppo_micro_batch_size_per_gpu": None}}, "refused"),
        ({f"{ACTOR}.loss_agg_mode": "mean"}, "refused"),
        ({"model_engine": "megatron", f"{ACTOR}.megatron.tensor_model_parallel_size": 2}, OK),
        ({"model_engine": "megatron", f"{ACTOR}.megatron.tensor_model_parallel_size": 3}, "refused"),
    ]

    def test_values_are_refused_where_verl_refuses_them(self):
        for change, expected in self.CHANGES:
            overrides = _hydra.merge(self.FITTING, change)
            with self.subTest(change=change):
                checks = _training_checks.check_overrides(overrides, self.document)
                refused = any(not check["ok"] and check["level"] == "error" for check in checks)
                self.assertEqual("refused" if refused else OK, expected)
                self.assertEqual(self.verl_says(_hydra.to_arguments(overrides)), expected)

    @staticmethod
    def verl_says(given):
        config = copy.deepcopy(compose("ppo_trainer", given))
        with open_dict(config):
            del config.critic["model"]  # it would be loaded
        try:
            validate_config(config, need_reference_policy(config), need_critic(config))
        except (AssertionError, ValueError, InstantiationException):
            return "refused"
        return OK


if __name__ == "__main__":
    unittest.main()
