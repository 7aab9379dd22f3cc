# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""A declared training as what Ray runs: overrides, command line, runtime environment, and the id that names the run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Mapping
from typing import Any

from ansible_collections.rlops.verl.plugins.module_utils import _hydra
from ansible_collections.rlops.verl.plugins.module_utils._cluster_env import as_text
from ansible_collections.rlops.verl.plugins.module_utils._ray_job import spec_digest
from ansible_collections.rlops.verl.plugins.module_utils._secrets import hidden_runtime_env, parted, without_keys
from ansible_collections.rlops.verl.plugins.module_utils._verdict import check

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9])?")
# Ray's environment for a job knows these; verl adds variables of its own on top.
_RUNTIME_ENV_KEYS = ("working_dir", "excludes", "env_vars")


class DeclarationError(ValueError):
    """A declaration that describes no training: names the variable, what was found, what was wanted, the remedy."""


def plan(declared: Mapping[str, Any], accelerator_overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Everything that follows from a declaration.

    ``declared`` has ``name``, ``release``, ``nnodes``, ``slots_per_node``, ``model_path``, ``critic_model_path``,
    ``train_files``, ``val_files``, ``overrides``, ``env_vars``, ``working_dir``, ``excludes``, ``runs_dir`` and
    ``python``, and may have ``working_dir_digest``, which stands for the content of ``working_dir``. Returns ``id``
    (name and digest of what was declared), ``run_dir``, ``checkpoint_dir``, ``overrides`` (nested, for the checks),
    ``arguments``, ``entrypoint``, ``runtime_env`` and apart from it its ``secret_env_vars``, ``shown`` (the job for
    people, without secrets) and ``total_steps`` (None when it follows from the data). Raises DeclarationError.
    """
    name = str(declared["name"])
    if not _NAME.fullmatch(name):
        raise DeclarationError(
            f"ppo_training_name: found {name!r}, wanted letters, digits, '.', '_' and '-', at most 64. "
            "Change ppo_training_name."
        )
    for variable in ("overrides", "env_vars"):
        if not isinstance(declared[variable], Mapping):
            raise DeclarationError(
                f"ppo_training_{variable}: found {_hydra.type_name(declared[variable])}, wanted a dictionary. "
                f"Write ppo_training_{variable} as nested YAML."
            )
    derived = {
        "trainer": {
            "nnodes": int(declared["nnodes"]),
            "n_gpus_per_node": int(declared["slots_per_node"]),
            "project_name": name,
            "logger": ["console"],
        },
        "data": {
            "train_files": list(declared["train_files"]),
            "val_files": list(declared["val_files"]) or list(declared["train_files"]),
        },
        "actor_rollout_ref.model.path": declared["model_path"],
        "critic.model.path": declared["critic_model_path"] or declared["model_path"],
    }
    # Absent without a working directory, so that the ids of such runs do not depend on it.
    content = {"working_dir_digest": declared["working_dir_digest"]} if declared.get("working_dir_digest") else {}
    try:
        merged = _hydra.merge(accelerator_overrides, derived, declared["overrides"])
        # Everything that makes it this training and no other. Where it puts its files follows from that.
        spec = {
            "release": str(declared["release"]),
            "arguments": _hydra.to_arguments(merged),
            # A key that was renewed makes no other training.
            "env_vars": without_keys(declared["env_vars"]),
            "working_dir": declared["working_dir"],
            "excludes": declared["excludes"],
            **content,
        }
        run_id = f"{name}-{spec_digest(spec)}"
        run_dir = f"{declared['runs_dir'].rstrip('/')}/{name}/{run_id}"
        placed = {
            "trainer": {"default_local_dir": f"{run_dir}/checkpoints", "experiment_name": run_id},
            # Hydra keeps what it composed; by default it does so below the directory that Ray was started in.
            "hydra": {"run": {"dir": f"{run_dir}/hydra"}},
        }
        merged = _hydra.merge(placed, _hydra.to_mapping(merged))
        arguments = _hydra.to_arguments(merged)
    except _hydra.OverrideError as error:
        raise DeclarationError(f"ppo_training_overrides: {error} Change ppo_training_overrides.") from error
    checkpoint_dir = _checkpoint_dir(merged)
    environment = runtime_env(declared)
    variables, secrets = parted(environment["env_vars"])
    total = merged.get("trainer.total_training_steps")
    entrypoint = [declared["python"], "-m", "verl.trainer.main_ppo", *arguments]
    return {
        "id": run_id,
        "run_dir": run_dir,
        "checkpoint_dir": checkpoint_dir,
        "overrides": _hydra.to_mapping(merged),
        "arguments": arguments,
        "entrypoint": shlex.join(entrypoint),
        "runtime_env": {**environment, "env_vars": variables},
        "secret_env_vars": secrets,
        "shown": {
            "submission_id": run_id,
            "entrypoint": entrypoint,
            "runtime_env": hidden_runtime_env(environment),
            **content,
        },
        "total_steps": total.value if total is not None and isinstance(total.value, int) else None,
    }


def _checkpoint_dir(merged: Mapping[str, _hydra.Override]) -> str:
    """Where checkpoints will lie. The names of the training may stand in it as interpolations."""
    path, names = "trainer.default_local_dir", ("trainer.project_name", "trainer.experiment_name")
    found = merged[path].value if path in merged else None
    if not isinstance(found, str):
        raise DeclarationError(
            f"ppo_training_overrides: found {found!r} as {path}, wanted a directory. "
            "Change ppo_training_overrides; a value or nothing at trainer drops what belongs below it."
        )
    directory = found
    for name in names:
        directory = directory.replace(f"${{{name}}}", str(merged[name].value) if name in merged else "")
    if "${" in directory:
        raise DeclarationError(
            f"ppo_training_overrides: found {found} as {path}, wanted no interpolations but "
            f"{' and '.join(f'${{{name}}}' for name in names)}, since checkpoints are looked for there later. "
            "Write the path in ppo_training_overrides."
        )
    return directory


def runtime_env(declared: Mapping[str, Any]) -> dict[str, Any]:
    """Ray's environment of the job. Variables become text, as Ray wants them; one without a value is left out."""
    env = {str(name): as_text(value) for name, value in declared["env_vars"].items() if value is not None}
    rendered: dict[str, Any] = {"env_vars": env}
    if declared["working_dir"]:
        rendered["working_dir"] = declared["working_dir"]
        rendered["excludes"] = list(declared["excludes"])
    return {key: rendered[key] for key in _RUNTIME_ENV_KEYS if key in rendered}


def is_local_path(text: str) -> bool:
    """A path of this host, rather than the name of a model on a hub or an address of a remote file."""
    return text.startswith(("/", "~", "."))


def input_checks(
    inputs: Mapping[str, str | list[str]], found: Mapping[str, Mapping[str, Any]], made_later: Collection[str]
) -> list[dict[str, Any]]:
    """Judge models and data files.

    ``inputs`` is variable to path or paths, ``found`` is path to the answer of ansible.builtin.stat, and the paths in
    ``made_later`` are made by this run and need not be there.
    """
    checks = []
    for variable, value in inputs.items():
        paths = [value] if isinstance(value, str) else list(value)
        if not any(paths):
            checks.append(check(variable, False, "nothing", "a path", f"Set {variable}."))
        for path in filter(None, paths):
            checks.append(_input_check(variable, str(path), found, made_later))
    return checks


def _input_check(
    variable: str, path: str, found: Mapping[str, Mapping[str, Any]], made_later: Collection[str]
) -> dict[str, Any]:
    stat = found.get(path, {})
    is_model = "model" in variable
    wanted = "a directory with config.json" if is_model else "a file"
    remedy = f"Correct {variable}, or put it there."
    if not is_local_path(path):
        kind = "a model of a hub" if is_model else "a remote file"
        return check(variable, True, f"{path}, taken as {kind}", wanted)
    if not path.startswith("/"):
        return check(variable, False, f"{path}, a relative path", f"{wanted}, as an absolute path", remedy)
    if path in made_later:
        return check(variable, True, f"{path}, made by this run", wanted)
    if not stat.get("exists"):
        return check(variable, False, f"{path}, which does not exist", wanted, remedy)
    if is_model and not stat.get("isdir"):
        return check(variable, False, f"{path}, which is a file", wanted, remedy)
    if not is_model and stat.get("isdir"):
        return check(variable, False, f"{path}, which is a directory", wanted, remedy)
    if not stat.get("readable", True):
        return check(variable, False, f"{path}, which this user may not read", wanted, remedy)
    # As far as it was looked at.
    if is_model and not found.get(f"{path.rstrip('/')}/config.json", {"exists": True}).get("exists"):
        return check(variable, False, f"{path}, a directory without config.json", wanted, remedy)
    return check(variable, True, path, wanted)


def run_checks(run: Mapping[str, Any], log_path: str, total_steps: int | None) -> list[dict[str, Any]]:
    """Judge a run that has ended, from its record."""
    status = run["status"]
    reason = run.get("error") or run.get("message") or "no reason given"
    checks = [
        check(
            f"job {run['submission_id']}",
            status == "SUCCEEDED",
            status if status == "SUCCEEDED" else f"{status}: {reason}",
            "SUCCEEDED",
            f"The full log is {log_path}. After the cause is removed, run again: training goes on from the newest "
            "checkpoint.",
        )
    ]
    if status == "SUCCEEDED" and total_steps is not None:
        # An attempt that finds the last step saved trains none.
        last = max(run["last_step"], run.get("saved_step", 0))
        checks.append(
            check(
                "training-steps",
                last == total_steps,
                f"last step {last}",
                f"step {total_steps}",
                "verl ends early when the data runs out: raise trainer.total_epochs or lower "
                f"trainer.total_training_steps in ppo_training_overrides. The full log is {log_path}.",
            )
        )
    return checks
