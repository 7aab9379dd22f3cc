# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Write the key table of the installed verl: ``PYTHON_WITH_VERL tests/tools/make_config_keys.py [FILE]``.

The table lets the collection check overrides on a controller that has neither verl nor Hydra. Everything in it comes
from composing verl's ``ppo_trainer`` configuration and from the dataclasses it is turned into; the constants below are
what only a reader of verl's source knows, and each is tested against that source before it is written.

An entry is ``[types, default]``, ``[types, fallback, [targets]]`` for a key whose default is taken from the first
target that exists, or ``[types]`` for a key that verl reads although its configuration does not have it.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import re
import sys
import types
import typing
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import verl
from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from omegaconf import DictConfig, OmegaConf, open_dict

PACKAGE = Path(verl.__file__).parent
CONFIG = PACKAGE / "trainer" / "config"
TABLES = Path(__file__).resolve().parents[2] / "roles" / "ppo_training" / "files" / "config_keys"
ENGINES = "model_engine"

# Sections that take any key, beside the empty ones: they are handed on as keyword arguments.
OPEN = [
    "ray_kwargs.ray_init",
    "ray_kwargs.ray_init.runtime_env",
    "global_profiler.global_tool_config.nsys.controller_nsight_options",
    "global_profiler.global_tool_config.nsys.worker_nsight_options",
]

# Keys read with .get() that no configuration file and no dataclass has, and the file of verl that reads them.
READ = {
    "data.cache_dir": ("str", "utils/dataset/rl_dataset.py"),
    "reward.reward_kwargs": ("dict", "experimental/reward_loop/reward_manager/dapo.py"),
    "trainer.remove_previous_ckpt_in_save": ("bool", "trainer/ppo/v1/trainer_base.py"),
    "trainer.wandb_proxy": ("str", "utils/tracking.py"),
}

# Types that neither the default nor a dataclass shows.
TYPES = {
    "data.train_files": "list|str",
    "data.val_files": "list|str",
    "trainer.logger": "list|str",
    "trainer.total_training_steps": "int|null",
    "trainer.resume_from_path": "null|str",
    "trainer.v1.colocate_async.num_warmup_batches": "float|int",
    "trainer.v1.separate_async.num_warmup_batches": "float|int",
    "trainer.v1.sampler.max_off_policy_threshold": "int|null",
    "trainer.max_actor_ckpt_to_keep": "int|null",
    "trainer.max_critic_ckpt_to_keep": "int|null",
}

# Values that verl refuses otherwise, or fails on later, and the file that says so.
VALUES = {
    "actor_rollout_ref.actor.loss_agg_mode": (
        ["seq-mean-token-mean", "seq-mean-token-sum", "seq-mean-token-sum-norm", "token-mean", "token-sum"],
        "workers/config/actor.py",
    ),
    "data.truncation": (["error", "left", "middle", "right"], "utils/torch_functional.py"),
    "trainer.logger": (
        ["clearml", "console", "file", "mlflow", "rl_insight", "swanlab", "tensorboard", "tracking", "trackio"]
        + ["vemlp_wandb", "wandb"],
        "utils/tracking.py",
    ),
    "trainer.resume_mode": (["auto", "disable", "resume_path"], "trainer/ppo/v1/trainer_base.py"),
    "trainer.v1.sampler.max_off_policy_strategy": (["drop", "wait"], "trainer/ppo/v1/replay_buffer.py"),
}

# Names of other releases and of documentation, and what they are called now: a path and everything below it.
MOVED = {
    "actor_rollout_ref.actor.checkpoint.contents": [
        "actor_rollout_ref.actor.checkpoint.save_contents",
        "actor_rollout_ref.actor.checkpoint.load_contents",
    ],
    "critic.checkpoint.contents": ["critic.checkpoint.save_contents", "critic.checkpoint.load_contents"],
    "critic.model.fsdp_config": ["critic.fsdp"],
    "ray_init": ["ray_kwargs.ray_init"],
    "trainer.n_gpus": ["trainer.n_gpus_per_node"],
    "trainer.nnode": ["trainer.nnodes"],
    "trainer.val_generations_to_log_to_wandb": ["trainer.log_val_generations"],
}

# Keys the configuration has and main_ppo does not read, and the ones it reads instead
# (verl.experimental.reward_loop.migrate_legacy_reward_impl, which only other entry points call).
IGNORED = {
    "custom_reward_function": ["reward.custom_reward_function"],
    "reward_model": ["reward.reward_model"],
    "reward_model.model.path": ["reward.reward_model.model_path"],
    "reward_model.num_workers": ["reward.num_workers"],
    "reward_model.reward_loop_class_name": ["reward.reward_manager.module.name"],
    "reward_model.reward_loop_module_path": ["reward.reward_manager.module.path"],
    "reward_model.reward_loop_source": ["reward.reward_manager.source"],
    "reward_model.reward_manager": ["reward.reward_manager.name"],
    "sandbox_fusion": ["reward.sandbox_fusion"],
}

# Defaults that are an example of verl's authors: they exist on nobody's machine.
EXAMPLES = ["actor_rollout_ref.model.path", "critic.model.path", "data.train_files", "data.val_files"]


def composed(*overrides: str) -> tuple[DictConfig, dict[str, str]]:
    """The configuration of ``ppo_trainer`` and the options chosen for its config groups."""
    config = compose("ppo_trainer", overrides=list(overrides), return_hydra_config=True)
    choices = {
        slot: option
        for slot, option in config.hydra.runtime.choices.items()
        # hydra/... are Hydra's own; actor/../optim@... are chosen inside verl's files and cannot be overridden.
        if "/" not in slot
    }
    with open_dict(config):
        del config["hydra"]
    return config, dict(sorted(choices.items()))


def entries(config: DictConfig) -> dict[str, list[Any]]:
    """The table entries of one composed configuration by path; sections appear only when they are empty."""
    found: dict[str, list[Any]] = {}
    for path, section in sections(config):
        annotated = dataclass_types(section)
        for name in section:
            key = f"{path}.{name}" if path else str(name)
            node = section._get_node(name)
            if isinstance(node, DictConfig) and not node._is_interpolation() and len(node):
                continue
            known = annotated.pop(name, set())
            found[key] = entry(key, node, config, known)
        for name, known in annotated.items():
            key = f"{path}.{name}" if path else name
            if name not in section and known - {"null"} and "any" not in known:
                found[key] = ["|".join(sorted(known))]
    return found


def sections(config: DictConfig, path: str = "") -> Iterator[tuple[str, DictConfig]]:
    yield path, config
    for name in config:
        node = config._get_node(name)
        if isinstance(node, DictConfig) and not node._is_interpolation() and not node._is_none():
            yield from sections(node, f"{path}.{name}" if path else str(name))


def entry(key: str, node: Any, config: DictConfig, annotated: set[str]) -> list[Any]:
    if node._is_missing():
        return [join_types(key, annotated, set()), "???"]
    if not node._is_interpolation():
        value = OmegaConf.to_container(node) if OmegaConf.is_config(node) else node._value()
        return [join_types(key, annotated, {kind(value)}), value]
    text = node._value()
    resolved = OmegaConf.select(config, key)
    if OmegaConf.is_config(resolved):
        resolved = OmegaConf.to_container(resolved)
    targets = interpolated_keys(text, key)
    joined = join_types(key, annotated, {kind(resolved)})
    if not targets:
        return [joined, text]
    try:
        fallback = OmegaConf.create({"key": text}).key
    except Exception:  # no fallback is given: the target always exists
        fallback = None
    return [joined, OmegaConf.to_container(fallback) if OmegaConf.is_config(fallback) else fallback, targets]


def interpolated_keys(text: str, key: str) -> list[str]:
    """The keys a default is taken from, or none if it is put together from several texts."""
    if not re.fullmatch(r"\$\{.*\}", text) or text.count("${") != text.count("${oc.select:") + (":" not in text):
        return []
    targets = re.findall(r"\$\{(?:oc\.select:)?\s*([\w.]+)", text)
    parent = key.rpartition(".")[0]
    return [f"{parent}{target}" if target.startswith(".") else target for target in targets]


def kind(value: object) -> str:
    if value is None:
        return "null"
    return {bool: "bool", int: "int", float: "float", str: "str", list: "list", dict: "dict"}[type(value)]


def join_types(key: str, annotated: set[str], default: set[str]) -> str:
    if key in TYPES:
        return TYPES[key]
    known = annotated | default
    if not known - {"null"} or "any" in known:
        return "any"
    return "|".join(sorted(known))


def dataclass_types(section: DictConfig) -> dict[str, set[str]]:
    """Types of the fields of the dataclass that verl makes of a section."""
    target = section.get("_target_") if "_target_" in section else None
    if target is None:
        return {}
    module, _point, name = target.rpartition(".")
    cls = getattr(importlib.import_module(module), name)
    if not dataclasses.is_dataclass(cls):
        return {}
    hints = typing.get_type_hints(cls)
    return {
        field.name: annotation_types(hints[field.name])
        for field in dataclasses.fields(cls)
        if field.init and not field.name.startswith("_")
    }


def annotation_types(hint: Any) -> set[str]:
    """``Optional[int]`` as {"int", "null"}; nothing for a class of verl, whose section has types of its own."""
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        return set().union(*(annotation_types(option) for option in typing.get_args(hint)))
    if origin is typing.Literal:
        return {kind(option) for option in typing.get_args(hint)}
    if hint is Any:
        return {"any"}
    simple = {bool: "bool", int: "int", float: "float", str: "str", type(None): "null", list: "list", dict: "dict"}
    simple[tuple] = "list"
    name = simple.get(origin or hint)
    return {name} if name else set()


def make_table() -> dict[str, Any]:
    groups = {
        folder.name: sorted(file.stem for file in folder.glob("*.yaml"))
        for folder in sorted(CONFIG.iterdir())
        if folder.is_dir() and any(folder.glob("*.yaml"))
    }
    GlobalHydra.instance().clear()
    with initialize_config_dir(str(CONFIG), version_base=None):
        common = entries(composed()[0])
        choices = {engine: composed(f"{ENGINES}={engine}")[1] for engine in groups[ENGINES]}
        # An engine only sets the options of the other places, so each place is looked at alone. Options that no engine
        # sets are the abstract parts of the others.
        chosen = {slot: sorted({by_slot[slot] for by_slot in choices.values()}) for slot in choices["dp"]}
        options = {
            slot: {option: entries(composed(f"{slot}={option}")[0]) for option in names}
            for slot, names in chosen.items()
            if slot != ENGINES and len(names) > 1
        }
    for found in (found for by_option in options.values() for found in by_option.values()):
        common = {path: value for path, value in common.items() if found.get(path) == value}
    for slot, by_option in options.items():
        package = slot.partition("@")[2] or slot
        for option, found in by_option.items():
            own = {path: value for path, value in found.items() if path not in common and is_below(path, package)}
            # What the options of other places decide about is missing here; the rest must be there.
            others = [other.partition("@")[2] or other for other in options if other != slot]
            lost = [path for path in found.keys() - common.keys() - own.keys() if not is_below(path, *others)]
            assert not lost, (
                f"{slot}={option} decides about keys elsewhere, which a table of this form cannot say: {lost}"
            )
            by_option[option] = own
    for key, (known, _file) in READ.items():
        assert key not in common, f"{key} is in the configuration now: drop it from READ"
        common[key] = [known]
    check_constants(common, options)
    return {
        "verl": version("verl"),
        "groups": groups,
        "choices": choices,
        "open": OPEN,
        "values": {key: values for key, (values, _file) in VALUES.items()},
        "moved": MOVED,
        "ignored": IGNORED,
        "examples": EXAMPLES,
        "keys": common,
        "options": options,
    }


def is_below(path: str, *packages: str) -> bool:
    return any(path.startswith(f"{package}.") for package in packages)


def check_constants(keys: dict[str, Any], options: dict[str, Any]) -> None:
    """The constants above say nothing about the installed verl that is not so."""
    known = set(keys) | {path for by_option in options.values() for found in by_option.values() for path in found}
    prefixes = {path[:end] for path in known for end in range(len(path) + 1) if path[end : end + 1] in (".", "")}
    for key in [*TYPES, *VALUES, *IGNORED, *EXAMPLES, *OPEN]:
        assert key in prefixes, f"{key}: not a key of verl {version('verl')}"
    for key, targets in [*MOVED.items(), *IGNORED.items()]:
        assert key not in prefixes or key in IGNORED, f"{key}: listed as moved and is still a key"
        assert all(target in prefixes for target in targets), f"{key}: no such key: {targets}"
    sources = [(key.rpartition(".")[2], file) for key, (_types, file) in READ.items()]
    sources += [(value, file) for values, file in VALUES.values() for value in values]
    for word, file in sources:
        source = (PACKAGE / file).read_text(encoding="utf-8")
        assert f'"{word}"' in source or f"'{word}'" in source, f"{word}: not in {file}"
    main = (PACKAGE / "trainer" / "main_ppo.py").read_text(encoding="utf-8")
    assert "migrate_legacy_reward_impl" not in main, "main_ppo reads the old reward keys now: empty IGNORED"


def dump(value: Any, depth: int = 0) -> str:
    """JSON with one key a line and everything that is no dictionary on that line; keys sorted."""
    if not isinstance(value, dict) or not value:
        return json.dumps(value, ensure_ascii=False, sort_keys=True)
    lines = [f"{' ' * (depth + 1)}{json.dumps(key)}: {dump(value[key], depth + 1)}" for key in sorted(value)]
    return "{\n" + ",\n".join(lines) + f"\n{' ' * depth}}}"


def main() -> None:
    table = make_table()
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else TABLES / f"{table['verl']}.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(dump(table) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
