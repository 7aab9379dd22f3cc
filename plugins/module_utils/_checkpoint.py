# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Audit of a verl run's checkpoint directory on one host, without unpickling.

What verl 0.9 writes (``W`` is the world size, ``R`` a rank)::

    <run>/latest_checkpointed_iteration.txt                      tracker, on the host of the driver only
    <run>/global_step_N/data.pt                                  data loader, the same host
    <run>/global_step_N/actor/model_world_size_W_rank_R.pt       and optim_..., extra_state_..., on the host of rank R
    <run>/global_step_N/actor/fsdp_config.json, huggingface/     on the host of rank 0 only
    <run>/global_step_N/critic/...                               the same again

One host sees its part only, so the audit says what is there and whether each file is whole; what that means is said by
_checkpoint_summary, which joins the audits of all hosts.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any, TypedDict

from ansible_collections.rlops.verl.plugins.module_utils._checkpoint_reader import Entry, Reader
from ansible_collections.rlops.verl.plugins.module_utils._torch_file import (
    Archive,
    PickleFacts,
    TorchFileError,
    read_archive,
    read_pickle_facts,
)

TRACKER = "latest_checkpointed_iteration.txt"
FSDP_CONFIG = "fsdp_config.json"
HUGGINGFACE = "huggingface"
LORA_META = "lora_train_meta.json"
DATA = "data.pt"
COMPONENTS = ("actor", "critic", "ref")
MEGATRON_MARKS = frozenset({"dist_ckpt", "model", "ckpt_contents.json", "transformer_config.json"})
SHARD_KINDS = ("model", "optim", "extra_state")

_STEP = re.compile(r"global_step_(0|[1-9][0-9]*)")
_STEP_ALIKE = re.compile(r"global_?steps?[_-]?[0-9]+", re.IGNORECASE)
_SHARD = re.compile(r"(model|optim|extra_state)_world_size_([1-9][0-9]*)_rank_(0|[1-9][0-9]*)\.pt")
# What a tokenizer can be built from; without one of these transformers makes one up.
_VOCABULARIES = re.compile(
    r"tokenizer\.json|tokenizer\.model|vocab\.(json|txt)|merges\.txt|spiece\.model|sentencepiece.*\.model|tekken\.json|.*\.tiktoken"
)
_WEIGHTS = re.compile(r".*\.(safetensors|bin|pt|pth)")
_SMALL = 32 << 20  # bytes of a text file that is read whole; a large tokenizer.json has 20 MB


class ShardFile(TypedDict):
    """One shard. ``problem`` is empty when it is whole; ``digest`` identifies its content (see _torch_file)."""

    name: str
    kind: str
    world_size: int
    rank: int
    size: int
    mtime_ns: int
    digest: str
    problem: str
    saved_by_rank: int | None
    scheduler_step: int | None
    element_bytes: int | None


class FsdpConfig(TypedDict):
    """``state`` is absent, whole or broken."""

    state: str
    problem: str
    world_size: int | None
    mtime_ns: int


class HuggingFace(TypedDict):
    """The directory with configuration and tokenizer. ``problems`` are what keeps it from being merged."""

    present: bool
    problems: list[str]
    architectures: list[str]
    tokenizer: list[str]
    has_weights: bool
    files: list[str]
    digest: str


class Component(TypedDict):
    """One model of a step on one host. ``layout`` is fsdp, megatron, unknown or unreadable."""

    name: str
    path: str
    layout: str
    problem: str
    shards: list[ShardFile]
    fsdp_config: FsdpConfig
    huggingface: HuggingFace
    lora: bool
    foreign: list[str]


class Step(TypedDict):
    """``data`` is absent, whole or the reason why data.pt is not whole."""

    step: int
    path: str
    data: str
    problem: str
    components: dict[str, Component]
    foreign: list[str]


class Tracker(TypedDict):
    """``state`` is absent, empty, not an integer, unreadable, no such step or valid."""

    state: str
    step: int | None
    text: str


class Audit(TypedDict):
    """What one host has. ``problem`` is empty unless the directory is absent or cannot be read."""

    path: str
    exists: bool
    problem: str
    tracker: Tracker
    steps: list[Step]
    misnamed: list[str]
    foreign: list[str]


def audit_run(reader: Reader, path: str) -> Audit:
    """Look at everything below the run's checkpoint directory (``trainer.default_local_dir``)."""
    audit = Audit(
        path=path,
        exists=False,
        problem="",
        tracker=Tracker(state="absent", step=None, text=""),
        steps=[],
        misnamed=[],
        foreign=[],
    )
    try:
        entries = reader.entries(path)
    except FileNotFoundError:
        audit["problem"] = "absent"
        return audit
    except OSError as error:
        audit["exists"] = True
        audit["problem"] = _reason(error)
        return audit
    audit["exists"] = True
    for entry in entries:
        match = _STEP.fullmatch(entry.name)
        if match and entry.kind == "directory":
            audit["steps"].append(_audit_step(reader, f"{path}/{entry.name}", int(match[1])))
        elif entry.name == TRACKER:
            audit["tracker"] = _audit_tracker(reader, f"{path}/{entry.name}", entry)
        elif _STEP_ALIKE.fullmatch(entry.name):
            audit["misnamed"].append(entry.name)
        else:
            audit["foreign"].append(entry.name)
    audit["steps"].sort(key=lambda step: step["step"])
    tracker = audit["tracker"]
    if tracker["state"] == "valid" and tracker["step"] not in [step["step"] for step in audit["steps"]]:
        tracker["state"] = "no such step"
    return audit


def _audit_tracker(reader: Reader, path: str, entry: Entry) -> Tracker:
    tracker = Tracker(state="unreadable", step=None, text="")
    if entry.kind != "file":
        return tracker
    try:
        text = reader.read_at(path, 0, 100).decode("utf-8", "replace").strip()
    except OSError:
        return tracker
    tracker["text"] = text
    if not text:
        tracker["state"] = "empty"
    elif not re.fullmatch(r"[0-9]{1,18}", text, re.ASCII):
        tracker["state"] = "not an integer"
    else:
        tracker["state"], tracker["step"] = "valid", int(text)
    return tracker


def _audit_step(reader: Reader, path: str, number: int) -> Step:
    step = Step(step=number, path=path, data="absent", problem="", components={}, foreign=[])
    try:
        entries = reader.entries(path)
    except OSError as error:
        step["problem"] = _reason(error)
        return step
    for entry in entries:
        if entry.name in COMPONENTS and entry.kind == "directory":
            step["components"][entry.name] = audit_component(reader, f"{path}/{entry.name}", entry.name)
        elif entry.name == DATA:
            problem = _archive(reader, f"{path}/{entry.name}", entry)[2]
            step["data"] = problem or "whole"
        else:
            step["foreign"].append(entry.name)
    return step


def audit_component(reader: Reader, path: str, name: str) -> Component:
    """Look at the directory of one model of a step, such as ``global_step_4/actor``."""
    component = Component(
        name=name,
        path=path,
        layout="unknown",
        problem="",
        shards=[],
        fsdp_config=FsdpConfig(state="absent", problem="", world_size=None, mtime_ns=0),
        huggingface=_no_huggingface(),
        lora=False,
        foreign=[],
    )
    try:
        entries = reader.entries(path)
    except OSError as error:
        component["layout"], component["problem"] = "unreadable", _reason(error)
        return component
    names = {entry.name for entry in entries}
    for entry in entries:
        match = _SHARD.fullmatch(entry.name)
        if match:
            component["shards"].append(_audit_shard(reader, f"{path}/{entry.name}", entry, match))
        elif entry.name == FSDP_CONFIG:
            component["fsdp_config"] = _audit_fsdp_config(reader, f"{path}/{entry.name}", entry)
        elif entry.name == HUGGINGFACE and entry.kind == "directory":
            component["huggingface"] = _audit_huggingface(reader, f"{path}/{entry.name}")
        elif entry.name == LORA_META:
            component["lora"] = True
        elif entry.name not in MEGATRON_MARKS:
            component["foreign"].append(entry.name)
    if component["shards"] or component["fsdp_config"]["state"] != "absent":
        component["layout"] = "fsdp"
    elif names & MEGATRON_MARKS:
        component["layout"] = "megatron"
    return component


def _audit_shard(reader: Reader, path: str, entry: Entry, match: re.Match[str]) -> ShardFile:
    archive, facts, problem = _archive(reader, path, entry, look=match[1] != "optim")
    return ShardFile(
        name=entry.name,
        kind=match[1],
        world_size=int(match[2]),
        rank=int(match[3]),
        size=entry.size,
        mtime_ns=entry.mtime_ns,
        digest=archive.digest if archive else "",
        problem=problem,
        saved_by_rank=facts.rank if match[1] == "model" else None,
        scheduler_step=facts.scheduler_step if match[1] == "extra_state" else None,
        element_bytes=facts.element_bytes if match[1] == "model" else None,
    )


def _archive(reader: Reader, path: str, entry: Entry, look: bool = False) -> tuple[Archive | None, PickleFacts, str]:
    """The archive, what its pickle says (when asked to look), and why it is not whole."""
    if entry.kind != "file":
        return (
            None,
            PickleFacts(),
            f"not a regular file but {'a directory' if entry.kind == 'directory' else 'something else'}",
        )

    def read_at(offset: int, length: int) -> bytes:
        return reader.read_at(path, offset, length)

    try:
        archive = read_archive(read_at, entry.size)
        return archive, read_pickle_facts(read_at, archive) if look else PickleFacts(), ""
    except TorchFileError as error:
        return None, PickleFacts(), str(error)
    except OSError as error:
        return None, PickleFacts(), _reason(error)


def _audit_fsdp_config(reader: Reader, path: str, entry: Entry) -> FsdpConfig:
    config = FsdpConfig(state="broken", problem="", world_size=None, mtime_ns=entry.mtime_ns)
    document, problem = _json_object(reader, path, entry)
    if document is None:
        config["problem"] = problem
        return config
    world_size = document.get("world_size")
    if not isinstance(world_size, int) or isinstance(world_size, bool) or world_size < 1:
        config["problem"] = f"its world_size is {world_size!r}"
        return config
    config["state"], config["world_size"] = "whole", world_size
    return config


def _no_huggingface() -> HuggingFace:
    return HuggingFace(
        present=False, problems=[], architectures=[], tokenizer=[], has_weights=False, files=[], digest=""
    )


def _audit_huggingface(reader: Reader, path: str) -> HuggingFace:
    found = _no_huggingface()
    found["present"] = True
    try:
        entries = {entry.name: entry for entry in reader.entries(path)}
        found["files"] = sorted(entries)
        found["has_weights"] = any(_WEIGHTS.fullmatch(name) for name in entries)
        found["digest"] = _small_files_digest(reader, path, entries)
    except OSError as error:
        found["problems"].append(_reason(error))
        return found
    found["tokenizer"] = sorted(
        name for name, entry in entries.items() if _VOCABULARIES.fullmatch(name) and entry.kind == "file" and entry.size
    )
    if not found["tokenizer"]:
        found["problems"].append(
            "it has no vocabulary (tokenizer.json, tokenizer.model, vocab.json, ...), "
            "and the merger would write a made-up tokenizer"
        )
    if "config.json" not in entries:
        found["problems"].append("it has no config.json")
        return found
    config, problem = _json_object(reader, f"{path}/config.json", entries["config.json"])
    if config is None:
        found["problems"].append(f"its config.json is broken: {problem}")
        return found
    architectures = config.get("architectures")
    if isinstance(architectures, list) and architectures and all(isinstance(name, str) for name in architectures):
        found["architectures"] = architectures
    else:
        found["problems"].append(f"architectures in its config.json is {json.dumps(architectures)}")
    return found


def _small_files_digest(reader: Reader, path: str, entries: dict[str, Entry]) -> str:
    """Digest of configuration and tokenizer; weights that verl may have put beside them do not go into a merge."""
    digest = hashlib.sha256()
    for name in sorted(entries):
        entry = entries[name]
        if entry.kind != "file" or _WEIGHTS.fullmatch(name):
            continue
        content = reader.read_at(f"{path}/{name}", 0, min(entry.size, _SMALL))
        digest.update(f"{name} {entry.size} {hashlib.sha256(content).hexdigest()}\n".encode())
    return digest.hexdigest()


def _json_object(reader: Reader, path: str, entry: Entry) -> tuple[dict[str, Any] | None, str]:
    """The JSON object in a small file, or why there is none."""
    if entry.kind != "file":
        return None, "not a regular file"
    if entry.size == 0:
        return None, "empty file"
    try:
        document = json.loads(reader.read_at(path, 0, min(entry.size, _SMALL)))
    except OSError as error:
        return None, _reason(error)
    except ValueError as error:
        return None, f"not JSON ({error})"
    if not isinstance(document, dict):
        return None, f"a JSON {type(document).__name__}, not an object"
    return document, ""


def _reason(error: OSError) -> str:
    return f"cannot be read ({error.strerror or error})"
