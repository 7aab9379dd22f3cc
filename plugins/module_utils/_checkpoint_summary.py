# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What the audits of all hosts mean together: which steps are whole, which is the newest, why the others are not.

A component is *whole* when everything that was saved for it is there, so that training can go on from it. It is
*mergeable* when its model shards and the files of rank 0 are there and belong together; optimizer states do not matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypedDict

from ansible_collections.rlops.verl.plugins.module_utils._checkpoint import (
    FSDP_CONFIG,
    HUGGINGFACE,
    SHARD_KINDS,
    Audit,
    Component,
    ShardFile,
    Step,
)

NEWEST = "newest"
# Rank 0 writes fsdp_config.json after its own shards and does not wait for the others, which take about as long.
_OVERWRITE_SECONDS = 600
_MERGED_ARCHITECTURES = ("ForCausalLM", "ForTokenClassification", "ForConditionalGeneration")


class ComponentSummary(TypedDict):
    """``ranks`` maps kind and rank to the hosts that have this shard; ``problems`` holds ``merge_problems`` too."""

    whole: bool
    mergeable: bool
    world_size: int | None
    architectures: list[str]
    lora: bool
    ranks: dict[str, dict[str, list[str]]]
    rank_0_hosts: list[str]
    problems: list[str]
    merge_problems: list[str]
    warnings: list[str]


class StepSummary(TypedDict):
    """``problems`` are those of the wanted components; ``resumable``: whole, with optimizer, scheduler and data.pt."""

    step: int
    whole: bool
    mergeable: bool
    resumable: bool
    problems: list[str]
    components: dict[str, ComponentSummary]
    data_hosts: list[str]


class Summary(TypedDict):
    """``chosen`` is the step that was asked for, None when it cannot be merged."""

    hosts: list[str]
    exists: bool
    unreadable: list[str]
    components: list[str]
    steps: list[StepSummary]
    newest: int | None
    chosen: int | None
    tracked: int | None
    warnings: list[str]


class WrongStepError(ValueError):
    """The wanted step is neither a number nor ``newest``."""


def combine(audits: Mapping[str, Audit], components: Sequence[str] = (), step: int | str = NEWEST) -> Summary:
    """Join the audits of all hosts.

    ``components`` are those that have to be whole; without them it is every component that occurs in the run.
    ``step`` is the step to choose: a number, or ``newest`` for the newest one that is whole.
    """
    wanted_step = step_number(step)
    numbers = sorted({item["step"] for audit in audits.values() for item in audit["steps"]})
    present = {name for audit in audits.values() for item in audit["steps"] for name in item["components"]}
    wanted = list(components) or sorted(present) or ["actor"]
    steps = [_summarize_step(number, audits, wanted) for number in numbers]
    whole = [item["step"] for item in steps if item["whole"]]
    newest = whole[-1] if whole else None
    if wanted_step is None:
        chosen = newest
    else:
        chosen = next((item["step"] for item in steps if item["step"] == wanted_step and item["mergeable"]), None)
    tracked, tracker_warnings = _tracker(audits)
    return Summary(
        hosts=sorted(audits),
        exists=any(audit["exists"] for audit in audits.values()),
        unreadable=[
            f"{audit['path']} on {host} {audit['problem']}"
            for host, audit in sorted(audits.items())
            if audit["exists"] and audit["problem"]
        ],
        components=wanted,
        steps=steps,
        newest=newest,
        chosen=chosen,
        tracked=tracked,
        warnings=tracker_warnings + _layout_warnings(audits, numbers),
    )


def step_number(step: int | str) -> int | None:
    """The number of a step, None for ``newest``. Raises WrongStepError."""
    if step == NEWEST:
        return None
    try:
        return int(str(step))
    except ValueError:
        raise WrongStepError(
            f"step: found {step!r}, wanted {NEWEST} or the number of a step, such as 40 for global_step_40"
        ) from None


def _summarize_step(number: int, audits: Mapping[str, Audit], wanted: Sequence[str]) -> StepSummary:
    parts: dict[str, Step] = {
        host: item for host, audit in sorted(audits.items()) for item in audit["steps"] if item["step"] == number
    }
    names = sorted({name for part in parts.values() for name in part["components"]} | set(wanted))
    hosts = sorted(audits)
    judged = {
        name: judge_component(
            name, {host: part["components"][name] for host, part in parts.items() if name in part["components"]}, hosts
        )
        for name in names
    }
    problems = [f"global_step_{number} on {host} {part['problem']}" for host, part in parts.items() if part["problem"]]
    mergeable = not problems and all(judged[name]["mergeable"] for name in wanted)
    problems += [f"{name}: {problem}" for name in wanted for problem in judged[name]["problems"]]
    for host, part in parts.items():
        if part["data"] not in ("absent", "whole"):
            problems.append(f"data.pt on {host} is {part['data']}")
    data_hosts = [host for host, part in parts.items() if part["data"] == "whole"]
    complete = all(judged[name]["ranks"].get(kind) for name in wanted for kind in SHARD_KINDS)
    return StepSummary(
        step=number,
        whole=not problems,
        mergeable=mergeable,
        resumable=not problems and complete and bool(data_hosts),
        problems=problems,
        components=judged,
        data_hosts=data_hosts,
    )


def judge_component(name: str, parts: Mapping[str, Component], hosts: Sequence[str]) -> ComponentSummary:
    """Join what each host has of one component; ``hosts`` are all that were looked at."""
    shards = [(host, shard) for host, part in sorted(parts.items()) for shard in part["shards"]]
    merge = _layout_problems(parts)
    other: list[str] = []
    world_size, world_problems = _world_size(parts, shards)
    merge += world_problems
    if not parts:
        merge.append(f"not on {_either(hosts)}")
    elif not merge or shards:
        for kind in SHARD_KINDS:
            found = [(host, shard) for host, shard in shards if shard["kind"] == kind]
            problems = _shard_problems(kind, found, world_size, hosts)
            (merge if kind == "model" else other).extend(problems)
        merge += _mixture_problems(shards)
        merge += _rank_0_problems(parts, hosts)
    architectures = next(
        (part["huggingface"]["architectures"] for part in parts.values() if part["huggingface"]["present"]), []
    )
    return ComponentSummary(
        whole=not merge and not other,
        mergeable=not merge,
        world_size=world_size,
        architectures=architectures,
        lora=any(part["lora"] for part in parts.values()),
        ranks={kind: _hosts_by_rank(shards, kind) for kind in SHARD_KINDS if _hosts_by_rank(shards, kind)},
        rank_0_hosts=[host for host, part in sorted(parts.items()) if part["fsdp_config"]["state"] != "absent"],
        problems=merge + other,
        merge_problems=merge,
        warnings=_component_warnings(name, parts, shards),
    )


def _layout_problems(parts: Mapping[str, Component]) -> list[str]:
    problems = []
    for host, part in sorted(parts.items()):
        if part["layout"] == "unreadable":
            problems.append(f"{part['path']} on {host} {part['problem']}")
        elif part["layout"] == "megatron":
            problems.append(f"{part['path']} on {host} is a Megatron checkpoint, which cannot be merged here yet")
    return problems


def _world_size(
    parts: Mapping[str, Component], shards: Iterable[tuple[str, ShardFile]]
) -> tuple[int | None, list[str]]:
    """The world size that all file names and fsdp_config.json agree on, or what they say."""
    said: dict[int, set[str]] = {}
    for host, shard in shards:
        said.setdefault(shard["world_size"], set()).add(f"file names on {host}")
    for host, part in sorted(parts.items()):
        configured = part["fsdp_config"]["world_size"]
        if configured is not None:
            said.setdefault(configured, set()).add(f"{FSDP_CONFIG} on {host}")
    if len(said) > 1:
        stories = "; ".join(f"{size} by {', '.join(sorted(places))}" for size, places in sorted(said.items()))
        return None, [f"world sizes differ: {stories}. These files come from different runs"]
    return (next(iter(said)), []) if said else (None, [])


def _shard_problems(
    kind: str, found: Sequence[tuple[str, ShardFile]], world_size: int | None, hosts: Sequence[str]
) -> list[str]:
    if not found:
        # What was not asked to be saved is not missing. The model always is.
        return [f"no model shard is on {_either(hosts)}"] if kind == "model" else []
    problems = []
    by_rank: dict[int, list[tuple[str, ShardFile]]] = {}
    for host, shard in found:
        by_rank.setdefault(shard["rank"], []).append((host, shard))
        if shard["problem"]:
            problems.append(f"{shard['name']} on {host} is {shard['problem']}")
    if world_size is not None:
        missing = [rank for rank in range(world_size) if rank not in by_rank]
        if missing:
            one = len(missing) == 1
            problems.append(
                f"{kind} shard{'' if one else 's'} of rank{'' if one else 's'} {_ranges(missing)} of {world_size} "
                f"{'is' if one else 'are'} not on {_either(hosts)}"
            )
        beyond = [rank for rank in by_rank if rank >= world_size]
        if beyond:
            problems.append(f"{kind} shards of ranks {_ranges(beyond)} exceed the world size {world_size}")
    for rank, copies in sorted(by_rank.items()):
        contents = {shard["digest"] for _host, shard in copies if not shard["problem"]}
        if len(contents) > 1:
            where = ", ".join(host for host, _shard in copies)
            problems.append(f"{kind} shard of rank {rank} is on {where} with different content")
    return problems


def _mixture_problems(shards: Sequence[tuple[str, ShardFile]]) -> list[str]:
    """Whole files that do not belong together. The merger would take them and write wrong weights."""
    problems = []
    for host, shard in shards:
        saved_by = shard["saved_by_rank"]
        if saved_by is not None and saved_by != shard["rank"]:
            problems.append(f"{shard['name']} on {host} holds the shard of rank {saved_by}")
    moments: dict[int, list[str]] = {}
    for host, shard in shards:
        if shard["scheduler_step"] is not None:
            moments.setdefault(shard["scheduler_step"], []).append(f"rank {shard['rank']} on {host}")
    if len(moments) > 1:
        stories = "; ".join(f"{count} by {', '.join(who)}" for count, who in sorted(moments.items()))
        problems.append(f"the ranks were not saved at the same step: optimizer steps {stories}")
    return problems


def _rank_0_problems(parts: Mapping[str, Component], hosts: Sequence[str]) -> list[str]:
    problems = []
    configs = {
        host: part["fsdp_config"] for host, part in sorted(parts.items()) if part["fsdp_config"]["state"] != "absent"
    }
    if not configs:
        problems.append(f"{FSDP_CONFIG} (written by rank 0) is not on {_either(hosts)}")
    problems += [
        f"{FSDP_CONFIG} on {host}: {config['problem']}" for host, config in configs.items() if config["problem"]
    ]
    models = {host: part["huggingface"] for host, part in sorted(parts.items()) if part["huggingface"]["present"]}
    if not models:
        problems.append(
            f"{HUGGINGFACE}/ with configuration and tokenizer (written by rank 0) is not on {_either(hosts)}"
        )
    for host, model in models.items():
        problems += [f"{HUGGINGFACE}/ on {host}: {problem}" for problem in model["problems"]]
        if model["architectures"] and not any(kind in model["architectures"][0] for kind in _MERGED_ARCHITECTURES):
            problems.append(
                f"architecture {model['architectures'][0]} on {host} is none that verl merges "
                f"({', '.join(_MERGED_ARCHITECTURES)})"
            )
    if len({model["digest"] for model in models.values()}) > 1:
        problems.append(f"{HUGGINGFACE}/ differs between {', '.join(models)}")
    return problems


def _component_warnings(
    name: str, parts: Mapping[str, Component], shards: Sequence[tuple[str, ShardFile]]
) -> list[str]:
    warnings = []
    written = [part["fsdp_config"]["mtime_ns"] for part in parts.values() if part["fsdp_config"]["state"] != "absent"]
    if written:
        late = sorted(
            {shard["rank"] for _host, shard in shards if shard["mtime_ns"] - max(written) > _OVERWRITE_SECONDS * 10**9}
        )
        if late:
            warnings.append(
                f"{name}: shards of ranks {_ranges(late)} are younger than {FSDP_CONFIG}: copied here later, or a save "
                "over an older checkpoint of the same step was interrupted"
            )
    for host, part in sorted(parts.items()):
        if part["foreign"]:
            warnings.append(f"{name} on {host} has files that verl does not write: {_few(part['foreign'])}")
    return warnings


def _hosts_by_rank(shards: Iterable[tuple[str, ShardFile]], kind: str) -> dict[str, list[str]]:
    hosts: dict[int, list[str]] = {}
    for host, shard in shards:
        if shard["kind"] == kind and not shard["problem"]:
            hosts.setdefault(shard["rank"], []).append(host)
    return {str(rank): hosts[rank] for rank in sorted(hosts)}


def _tracker(audits: Mapping[str, Audit]) -> tuple[int | None, list[str]]:
    """The step that the tracker names. It only says where verl would resume: the directories are the truth."""
    warnings = []
    tracked = set()
    for host, audit in sorted(audits.items()):
        tracker = audit["tracker"]
        if tracker["step"] is not None:
            tracked.add(tracker["step"])
        if tracker["state"] == "no such step":
            # The driver may have run on a host that has no rank: what counts is whether any host has the step.
            if not any(item["step"] == tracker["step"] for other in audits.values() for item in other["steps"]):
                warnings.append(f"the tracker on {host} names step {tracker['step']}, of which no host has anything")
        elif tracker["state"] not in ("absent", "valid"):
            warnings.append(f"the tracker on {host} is {tracker['state']}: {tracker['text']!r}")
    if len(tracked) > 1:
        warnings.append(f"the trackers name different steps: {', '.join(map(str, sorted(tracked)))}")
    any_steps = any(audit["steps"] for audit in audits.values())
    if any_steps and all(audit["tracker"]["state"] == "absent" for audit in audits.values()):
        warnings.append("no host has the tracker: verl would start from scratch with resume_mode=auto")
    return (next(iter(tracked)) if len(tracked) == 1 else None), warnings


def _layout_warnings(audits: Mapping[str, Audit], numbers: Sequence[int]) -> list[str]:
    warnings = []
    for host, audit in sorted(audits.items()):
        if audit["misnamed"]:
            warnings.append(
                f"{host} has {_few(audit['misnamed'])}, which verl does not read: a step is a directory global_step_N"
            )
        if audit["foreign"]:
            warnings.append(f"{host} has files beside the steps that verl does not write: {_few(audit['foreign'])}")
    steps_of: dict[str, list[int]] = {}
    for number in numbers:
        for name in sorted(
            {n for audit in audits.values() for s in audit["steps"] if s["step"] == number for n in s["components"]}
        ):
            steps_of.setdefault(name, []).append(number)
    if len({tuple(steps) for steps in steps_of.values()}) > 1:
        stories = "; ".join(f"{name} {', '.join(map(str, steps))}" for name, steps in sorted(steps_of.items()))
        warnings.append(f"the components were not kept at the same steps: {stories}")
    return warnings


def _either(hosts: Sequence[str]) -> str:
    """``a``, or ``any of a, b``, to follow a "not on"."""
    return hosts[0] if len(hosts) == 1 else f"any of {_few(list(hosts))}"


def _few(names: Sequence[str], limit: int = 6) -> str:
    shown = ", ".join(names[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"


def _ranges(numbers: Iterable[int]) -> str:
    """``0-2, 5`` for 0, 1, 2, 5."""
    parts: list[list[int]] = []
    for number in sorted(numbers):
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)
