# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Whether the values of a PPO run fit each other and the cluster.

The rules are those of verl 0.9.1, which finds most of them minutes later, on the nodes: ``verl/utils/config.py``
(validate_config), ``verl/workers/config/{actor,critic}.py`` (validate), ``verl/workers/engine_workers.py``,
``verl/trainer/ppo/v1/trainer_base.py``. Values that are interpolations are not known here, and rules about them not
applied.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible_collections.rlops.verl.plugins.module_utils._config_keys import KeyTable, check_keys, names_group
from ansible_collections.rlops.verl.plugins.module_utils._hydra import Override, is_within
from ansible_collections.rlops.verl.plugins.module_utils._verdict import check

ACTOR = "actor_rollout_ref.actor"
ROLLOUT = "actor_rollout_ref.rollout"
CRITIC = "critic"
REFERENCE = "actor_rollout_ref.ref"


def check_overrides(
    overrides: Mapping[str, Override],
    document: Mapping[str, Any],
    slots: Sequence[int] | None = None,
    variable: str = "ppo_training_overrides",
    run_id: str = "",
) -> list[dict[str, Any]]:
    """All checks of the overrides of a run: of the keys against the release, of the values against each other.

    ``document`` is the key table of the release, ``slots`` the worker slots (GPUs) of each node of the cluster if they
    are known, ``variable`` the name of the variable that holds the overrides, for the remedies, and ``run_id`` is what
    makes this run another than others, ``trainer.experiment_name`` where it is empty. Names are stable; each occurs at
    least once, and once for each problem.
    """
    table = KeyTable.of(document, overrides)
    settings = Settings(overrides, table, variable)
    named = {
        "example-values": _examples(settings),
        "rollout-name": _rollout_name(settings),
        "checkpoint-frequency": _frequency(settings),
        "checkpoint-directory": _directory(settings, run_id),
        "checkpoint-retention": _retention(settings),
        "resume-path": _resume(settings),
        "batch-sizes": _batch_sizes(settings),
        "micro-batch-sizes": _micro_batch_sizes(settings),
        "rollout-parallelism": _rollout_parallelism(settings),
        "worker-slots": _worker_slots(settings, slots),
    }
    checks = check_keys(overrides, table, variable)
    for name, problems in named.items():
        checks += [check(name, False, **problem) for problem in problems] or [check(name, True, "no objection")]
    return checks


@dataclass(frozen=True)
class Settings:
    """The values verl would run with: overrides over the defaults of the release."""

    overrides: Mapping[str, Override]
    table: KeyTable
    variable: str

    def is_set(self, path: str) -> bool:
        return path in self.overrides and self.overrides[path].prefix != "~"

    def get(self, path: str) -> Any:
        """The value at a path; None where there is none."""
        if path in self.overrides:
            return None if self.overrides[path].prefix == "~" else self.overrides[path].value
        document = self.table.document
        if any(is_within(path, given) and not names_group(o, document) for given, o in self.overrides.items()):
            return None
        entry = self.table.entries.get(path, [""])
        if len(entry) == 3:
            for target in entry[2]:
                if self.table.exists(target):
                    return self.get(target)
        return self.table.default(path)

    def number(self, path: str) -> int | None:
        """A whole number above zero at a path; None for anything else, interpolations included."""
        value = self.get(path)
        return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None

    def shown(self, *paths: str) -> str:
        return ", ".join(f"{path} {self.get(path)}" for path in paths)

    def remedy(self, *paths: str) -> str:
        return f"Change {' or '.join(paths)} in {self.variable}."

    @property
    def workers(self) -> int | None:
        nodes, per_node = self.number("trainer.nnodes"), self.number("trainer.n_gpus_per_node")
        return nodes * per_node if nodes and per_node else None

    @property
    def uses_critic(self) -> bool:
        enabled = self.get("critic.enable")
        return enabled is True or (enabled is None and self.get("algorithm.adv_estimator") == "gae")

    @property
    def uses_reference(self) -> bool:
        return self.get("algorithm.use_kl_in_reward") is True or self.get(f"{ACTOR}.use_kl_loss") is True

    def model_parallel(self, section: str) -> int | None:
        """Workers that hold one replica of the actor or critic together; None for engines not known here."""
        strategy = self.get(f"{section}.strategy")
        if strategy in ("fsdp", "fsdp2"):
            engine = "fsdp" if section == CRITIC else "fsdp_config"
            paths = (f"{section}.ulysses_sequence_parallel_size", f"{section}.{engine}.ulysses_sequence_parallel_size")
            return max(self.number(path) or 1 for path in paths)
        if strategy == "megatron" and self.get(f"{section}.megatron.dynamic_context_parallel") is not True:
            size = 1
            for kind in ("tensor_model", "pipeline_model", "context"):
                size *= self.number(f"{section}.megatron.{kind}_parallel_size") or 1
            return size
        return None


def _examples(settings: Settings) -> Iterator[dict[str, Any]]:
    for path in settings.table.document["examples"]:
        if not settings.is_set(path) and not (path.startswith("critic.") and not settings.uses_critic):
            yield {
                "found": f"{path} not set, so {settings.get(path)}, verl's own example",
                "wanted": "a path of yours",
                "remedy": f"Set {path} in {settings.variable}.",
                "level": "warning",
            }


def _rollout_name(settings: Settings) -> Iterator[dict[str, Any]]:
    path = f"{ROLLOUT}.name"
    if not settings.get(path):
        yield {
            "found": f"no {path}",
            "wanted": "the inference engine, such as vllm, sglang or hf",
            "remedy": f"Set {path} in {settings.variable}: verl has no default.",
        }


def _frequency(settings: Settings) -> Iterator[dict[str, Any]]:
    path = "trainer.save_freq"
    value = settings.get(path)
    if not settings.is_set(path):
        yield {
            "found": f"{path} not set, so {value}",
            "wanted": "a number of steps",
            "remedy": f"Set {path} in {settings.variable}: verl saves no checkpoint by itself.",
        }
    elif not isinstance(value, str) and settings.number(path) is None:
        yield {
            "found": f"{path} {value}",
            "wanted": "a number of steps above zero",
            "remedy": f"{settings.remedy(path)} No checkpoint is saved: nothing can be resumed or merged.",
            "level": "warning",
        }


def _directory(settings: Settings, run_id: str) -> Iterator[dict[str, Any]]:
    path, name = "trainer.default_local_dir", "trainer.experiment_name"
    value, experiment = settings.get(path), settings.get(name)
    if not isinstance(value, str):
        return
    if not value.startswith(("/", "${")):
        yield {
            "found": f"{path} {value}",
            "wanted": "an absolute path (~ is not expanded)",
            "remedy": f"{settings.remedy(path)} A relative one lies in Ray's temporary working directory of the job.",
        }
    elif (run_id or str(experiment)) not in value.replace(f"${{{name}}}", str(experiment)).split("/"):
        yield {
            "found": f"{path} {value} with {name} {experiment}",
            "wanted": "a directory of this run alone, since another run would go on from its checkpoints",
            "remedy": f"Leave {path} out of {settings.variable}: ppo_training_runs_dir says where runs are kept. Or "
            f"end it in /${{{name}}} and leave out {name}.",
        }


def _retention(settings: Settings) -> Iterator[dict[str, Any]]:
    for path in ("trainer.max_actor_ckpt_to_keep", "trainer.max_critic_ckpt_to_keep"):
        if settings.number(path) == 1:
            yield {
                "found": f"{path} 1",
                "wanted": "2 or more, or null for all",
                "remedy": f"{settings.remedy(path)} The only checkpoint is deleted before the next one is complete.",
                "level": "warning",
            }


def _resume(settings: Settings) -> Iterator[dict[str, Any]]:
    path, mode = "trainer.resume_from_path", settings.get("trainer.resume_mode")
    value = settings.get(path)
    if mode == "resume_path":
        if not isinstance(value, str) or ("${" not in value and not _names_step(value)):
            yield {
                "found": f"trainer.resume_mode resume_path with {path} {value}",
                "wanted": "the folder of a step, .../global_step_N",
                "remedy": settings.remedy(path, "trainer.resume_mode"),
            }
    elif value is not None and isinstance(mode, str) and "${" not in mode:
        yield {
            "found": f"{path} {value} with trainer.resume_mode {mode}, which does not use it",
            "wanted": "trainer.resume_mode resume_path",
            "remedy": settings.remedy("trainer.resume_mode", path),
            "level": "warning",
        }


def _names_step(path: str) -> bool:
    """verl takes all that follows the last ``global_step_`` for the number, so not even a slash may follow."""
    _before, found, step = path.rpartition("global_step_")
    return bool(found) and step.isdigit()


def _batch_sizes(settings: Settings) -> Iterator[dict[str, Any]]:
    workers, samples = settings.workers, settings.number(f"{ROLLOUT}.n")
    train = settings.number("data.train_batch_size")
    if not (workers and samples and train):
        return
    dynamic = settings.get(f"{ACTOR}.use_dynamic_bsz") is not False
    parallel = settings.model_parallel(ACTOR)
    unit, unit_paths = workers, ("trainer.nnodes", "trainer.n_gpus_per_node")
    if settings.get(f"{ACTOR}.strategy") == "megatron":
        unit = workers // (parallel or 1) * (settings.number(f"{ACTOR}.ppo_micro_batch_size_per_gpu") or 1)
    if not dynamic and unit and train * samples % unit:
        yield {
            "found": settings.shown("data.train_batch_size", f"{ROLLOUT}.n") + f" ({train * samples} sequences)",
            "wanted": f"a multiple of {unit} ({settings.shown(*unit_paths)})",
            "remedy": settings.remedy("data.train_batch_size", *unit_paths),
        }
    for section in (ACTOR, CRITIC) if settings.uses_critic else (ACTOR,):
        yield from _mini_batch(settings, section, train, samples, workers)


def _mini_batch(settings: Settings, section: str, train: int, samples: int, workers: int) -> Iterator[dict[str, Any]]:
    path = f"{section}.ppo_mini_batch_size"
    mini, parallel = settings.number(path), settings.model_parallel(section)
    if mini is None:
        return
    if train < mini:
        if settings.get(f"{section}.use_dynamic_bsz") is False:
            yield {
                "found": settings.shown("data.train_batch_size", path),
                "wanted": "a training batch of at least one mini batch",
                "remedy": settings.remedy(path, "data.train_batch_size"),
            }
    elif train % mini:
        yield {
            "found": settings.shown("data.train_batch_size", path),
            "wanted": "a training batch that is a multiple of the mini batch",
            "remedy": f"{settings.remedy(path)} verl fills the last mini batch with empty sequences.",
            "level": "warning",
        }
    if parallel is None:
        return
    if workers % parallel:
        yield {
            "found": f"{parallel} workers for one replica of {section} ({workers} workers in all)",
            "wanted": "a divisor of all workers",
            "remedy": settings.remedy(f"the parallel sizes of {section}", "trainer.nnodes", "trainer.n_gpus_per_node"),
        }
    elif mini * samples % (workers // parallel):
        yield {
            "found": settings.shown(path, f"{ROLLOUT}.n") + f" ({mini * samples} sequences)",
            "wanted": f"a multiple of {workers // parallel} replicas ({workers} workers)",
            "remedy": settings.remedy(path, "trainer.nnodes", "trainer.n_gpus_per_node"),
        }


def _micro_batch_sizes(settings: Settings) -> Iterator[dict[str, Any]]:
    wanted = [(ACTOR, "ppo_micro_batch_size", "use_dynamic_bsz"), (ROLLOUT, "log_prob_micro_batch_size", "")]
    if settings.uses_reference:
        wanted.append((REFERENCE, "log_prob_micro_batch_size", ""))
    if settings.uses_critic:
        wanted.append((CRITIC, "ppo_micro_batch_size", "use_dynamic_bsz"))
    for section, name, switch in wanted:
        # validate_config asks the actor's switch about the rollout and the reference.
        if settings.get(f"{section}.{switch}" if switch else f"{ACTOR}.use_dynamic_bsz") is not False:
            continue
        old, new = f"{section}.{name}", f"{section}.{name}_per_gpu"
        if settings.get(old) is None and settings.get(new) is None:
            yield {
                "found": f"no {new}",
                "wanted": "a number of sequences",
                "remedy": f"Set {new} in {settings.variable}, or {ACTOR}.use_dynamic_bsz to true.",
            }
        elif settings.get(old) is not None and settings.get(new) is not None:
            yield {
                "found": f"both {old} and {new}" + ("" if settings.is_set(new) else ", which follows it"),
                "wanted": new,
                "remedy": f"Remove {old} from {settings.variable}, set {new}.",
            }
        elif name == "ppo_micro_batch_size":
            yield from _micro_batch(settings, section, new)


def _micro_batch(settings: Settings, section: str, path: str) -> Iterator[dict[str, Any]]:
    mini, micro = settings.number(f"{section}.ppo_mini_batch_size"), settings.number(path)
    samples, workers, parallel = settings.number(f"{ROLLOUT}.n"), settings.workers, settings.model_parallel(section)
    if not (mini and micro and samples and workers and parallel) or workers % parallel:
        return
    sequences, rest = divmod(mini * samples, workers // parallel)
    if not rest and sequences % micro:
        yield {
            "found": f"{settings.shown(path, f'{section}.ppo_mini_batch_size')} ({sequences} sequences a replica)",
            "wanted": f"a divisor of {sequences}",
            "remedy": settings.remedy(path),
        }


def _rollout_parallelism(settings: Settings) -> Iterator[dict[str, Any]]:
    if settings.get("trainer.v1.trainer_mode") == "separate_async" or settings.workers is None:
        return
    paths = [f"{ROLLOUT}.{kind}_parallel_size" for kind in ("tensor_model", "data", "pipeline_model")]
    size = 1
    for path in paths:
        size *= settings.number(path) or 1
    if settings.workers % size:
        yield {
            "found": f"{settings.shown(*paths)}: {size} workers for one rollout, {settings.workers} in all",
            "wanted": "a divisor of all workers",
            "remedy": settings.remedy(paths[0]),
        }


def _worker_slots(settings: Settings, slots: Sequence[int] | None) -> Iterator[dict[str, Any]]:
    if slots is not None and sum(slots) < 1:
        yield {
            "found": "no worker slots in the whole cluster",
            "wanted": "one or more",
            "remedy": "Set verl_slots_per_node to the GPUs of a node, or to its worker slots on CPU.",
        }
        return
    for path in ("trainer.nnodes", "trainer.n_gpus_per_node"):
        value = settings.get(path)
        if isinstance(value, int) and not isinstance(value, bool) and value < 1:
            yield {
                "found": settings.shown(path),
                "wanted": "1 or more",
                "remedy": f"Set verl_slots_per_node, which it follows from, or {path} in {settings.variable}.",
            }
    nodes, per_node = settings.number("trainer.nnodes"), settings.number("trainer.n_gpus_per_node")
    if slots is None or not nodes or not per_node:
        return
    cluster = f"{len(slots)} nodes with {', '.join(str(slot) for slot in slots)} worker slots"
    if len(slots) == 1:
        cluster = f"1 node with {slots[0]} worker slots"
    wish = settings.shown("trainer.nnodes", "trainer.n_gpus_per_node")
    if sum(slot // per_node for slot in slots) < nodes:
        yield {
            "found": f"{wish} on {cluster}",
            "wanted": f"{nodes} times {per_node} free slots, each time on one node",
            "remedy": f"{settings.remedy('trainer.nnodes', 'trainer.n_gpus_per_node')} Ray would wait for ever.",
        }
    elif nodes * per_node < sum(slots) and not _has_other_pools(settings):
        yield {
            "found": f"{wish} on {cluster}",
            "wanted": f"all {sum(slots)} slots in use",
            "remedy": settings.remedy("trainer.nnodes", "trainer.n_gpus_per_node"),
            "level": "warning",
        }


def _has_other_pools(settings: Settings) -> bool:
    return bool(
        settings.number(f"{ROLLOUT}.nnodes")
        or settings.number("distillation.nnodes")
        or settings.get("reward.reward_model.enable_resource_pool") is True
    )
