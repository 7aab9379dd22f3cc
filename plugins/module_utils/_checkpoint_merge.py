# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Merging one component of a step: what goes in, what is there already, what to do, and what the merger's log says.

A merged model carries a manifest, ``rlops_merge.json``, which names the content that it was made from and that of each
of its files. It is written last, and the directory appears under its name only with it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.rlops.verl.plugins.module_utils._checkpoint import COMPONENTS, HUGGINGFACE, Component
from ansible_collections.rlops.verl.plugins.module_utils._sizes import human
from ansible_collections.rlops.verl.plugins.module_utils._verl_log import first_error, plain

MANIFEST = "rlops_merge.json"
ENGINE = "verl"
_MERGED_ELEMENT_BYTES = 2  # verl's merger writes bfloat16, whatever the shards hold
_TYPE_NAMES = {"BF16": "bfloat16", "F16": "float16", "F32": "float32", "F64": "float64"}
_PARTS = ("text_config", "vision_config", "audio_config")  # of a multimodal model's configuration
_FULL_BYTES = 1 << 20
_SPARE_BYTES = 64 << 20  # tokenizer, configuration, file system

# What the merger needs to run on a host of any kind, with no accelerator and no network.
MERGER_ENVIRONMENT = {
    "CUDA_VISIBLE_DEVICES": "",
    "HIP_VISIBLE_DEVICES": "",
    "HF_HUB_OFFLINE": "1",
    "MKL_THREADING_LAYER": "GNU",
    "TOKENIZERS_PARALLELISM": "false",
    "VERL_USE_EXTERNAL_PLUGINS": "none",
}

# A piece of the merger's log and what to do about it. The first that fits counts.
_KNOWN_FAILURES = (
    (r"No module named '?verl", "Set python to the interpreter of an environment with verl."),
    (r"No space left on device|Disk quota exceeded", "Free space, or choose a destination on another disk."),
    (
        r"failed to be inspected|does not recognize this architecture",
        "The installed transformers is too old for this model: install a release of verl with a newer one.",
    ),
    (r"MKL_THREADING_LAYER", "Set MKL_THREADING_LAYER to GNU in env."),
    (
        r"Unsupported mesh_dim_names|FSDP \+ TP is not supported",
        "verl's merger takes shards of plain FSDP and of HSDP only (mesh dimensions fsdp, or ddp and fsdp).",
    ),
    (
        r"size mismatch|Sizes of tensors must match|differs between rank 0 and rank",
        "The shards do not belong to one save of one model: merge another step.",
    ),
    (r"trust_remote_code", "The model brings its own code, which is not run here."),
    (
        r"Incomplete Hugging Face model output",
        "The shards hold no base weights: was the run saved with save_lora_only?",
    ),
    (r"PytorchStreamReader|invalid load key|unexpected EOF", "A shard is damaged: merge another step."),
    (
        r"MemoryError|out of memory|DefaultCPUAllocator",
        "The host has too little memory: the merger holds all shards at once.",
    ),
)


class MergeError(ValueError):
    """The merge cannot be done; the message says what, where, found, wanted and the remedy."""


@dataclass(frozen=True)
class Source:
    """What goes into a merge. ``digest`` identifies its content; ``output_bytes`` is about what comes out."""

    path: str
    step: int
    component: str
    world_size: int
    shards: tuple[dict[str, Any], ...]
    digest: str
    output_bytes: int


@dataclass(frozen=True)
class Destination:
    """What is there already. ``kind`` is absent, empty, merged, foreign or not a directory."""

    path: str
    kind: str
    manifest: dict[str, Any] = field(default_factory=dict)
    damage: tuple[str, ...] = ()
    entries: tuple[str, ...] = ()


def step_and_component(path: str) -> tuple[int, str]:
    """``4, actor`` of ``.../global_step_4/actor``. Raises MergeError."""
    match = re.search(r"(?:^|/)global_step_([0-9]+)/([^/]+)/*$", path)
    if match is None or match[2] not in COMPONENTS:
        raise MergeError(
            f"source: found {path}, wanted the directory of one component of a step, such as "
            f".../global_step_40/actor ({', '.join(COMPONENTS)})"
        )
    return int(match[1]), match[2]


def source_of(component: Component, step: int, world_size: int) -> Source:
    """Describe a mergeable component. Its digest stands on content alone: a copy elsewhere has the same."""
    shards = tuple(
        {"name": shard["name"], "size": shard["size"], "digest": shard["digest"]}
        for shard in component["shards"]
        if shard["kind"] == "model"
    )
    content = {"world_size": world_size, "shards": shards, "huggingface": component["huggingface"]["digest"]}
    output = sum(
        shard["size"]
        * _MERGED_ELEMENT_BYTES
        // max(shard["element_bytes"] or _MERGED_ELEMENT_BYTES, _MERGED_ELEMENT_BYTES)
        for shard in component["shards"]
        if shard["kind"] == "model"
    )
    return Source(
        path=component["path"],
        step=step,
        component=component["name"],
        world_size=world_size,
        shards=shards,
        digest=_digest(content),
        output_bytes=output,
    )


def _digest(document: object) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def incomplete_message(source: str, host: str, problems: Sequence[str]) -> str:
    remedy = "A merge needs all shards and the files of rank 0 on one host: bring them there, or merge another step."
    if any(problem.startswith(f"{HUGGINGFACE}/") for problem in problems):
        remedy += f" Configuration and tokenizer are those of the trained model: copy them to {source}/{HUGGINGFACE}."
    return (
        f"source: found {source} on {host} not complete: {'; '.join(problems)}, wanted a complete checkpoint. {remedy}"
    )


def space_problem(free: int, source: Source, destination: str) -> str:
    """Empty when the merged model fits."""
    needed = source.output_bytes + _SPARE_BYTES
    if free >= needed:
        return ""
    return (
        f"dest: found {human(free)} free at {destination}, wanted about {human(needed)} for the merged model. "
        "Free space, or choose a destination on another disk."
    )


def decide(destination: Destination, source: Source) -> str:
    """``merge`` or ``none``. Raises MergeError when something is in the way: nothing is ever overwritten."""
    where = f"dest: found {destination.path}"
    if destination.kind == "not a directory":
        raise MergeError(f"{where}, which is not a directory, wanted a directory that does not exist yet. Remove it.")
    if destination.kind == "foreign":
        raise MergeError(
            f"{where} with {', '.join(destination.entries[:5])} and no {MANIFEST}: it was not made by a merge. "
            "Wanted a directory that does not exist yet. Choose another one, or move this one away."
        )
    if destination.kind != "merged":
        return "merge"
    manifest = destination.manifest
    if manifest.get("source_digest") != source.digest:
        raise MergeError(
            f"{where}, merged from {manifest.get('source')} with other content, wanted {source.path} as it is now. "
            "Choose another destination, or remove this one to merge anew."
        )
    if destination.damage:
        raise MergeError(
            f"{where}, changed since it was merged: {'; '.join(destination.damage[:5])}. Wanted it as merged. "
            "Move it away if the changes matter, else remove it, and run again."
        )
    return "none"


def merger_command(python: str, source: str, target: str) -> list[str]:
    return [
        python, "-m", "verl.model_merger", "merge",
        "--backend", "fsdp", "--local_dir", source, "--target_dir", target,
    ]  # fmt: skip


def merger_environment(inherited: Mapping[str, str], own: Mapping[str, object]) -> dict[str, str]:
    """The environment of the merger; what the user sets wins.

    Merging needs no platform, and without its plugins verl refuses to start on one that a plugin brings.
    """
    plain = {name: value for name, value in inherited.items() if name != "VERL_PLATFORM"}
    return {**plain, **MERGER_ENVIRONMENT, **{name: str(value) for name, value in own.items()}}


def failure_message(
    source: Source, log: Sequence[str], log_path: str, returncode: int | None, timeout: float, free: int
) -> str:
    """What went wrong in the merger: its first exception, a remedy where one is known, and the end of its log.

    ``free`` are the bytes that were free after it: on a full disk the log is cut off too, and says nothing.
    """
    if returncode is not None and free < _FULL_BYTES:
        error, remedy = (
            f"no space left on the disk of {log_path}",
            "Free space, or choose a destination on another disk.",
        )
    elif returncode is None:
        error, remedy = f"not done within {timeout:g} s", "Raise timeout, or free the host of other work."
    elif returncode < 0:
        error = f"killed by signal {-returncode}"
        remedy = (
            "The kernel kills so when memory runs out: the merger holds all shards at once." if returncode == -9 else ""
        )
    else:
        error, remedy = _known_failure(log) or (first_error(log) or f"exit code {returncode}", "")
    tail = [plain(line) for line in log if line.strip()][-12:]
    parts = [
        f"verl's merger failed on global_step_{source.step}/{source.component}: {error}.",
        remedy,
        f"Its whole log is {log_path}; it ends with:\n" + "\n".join(tail) if tail else f"Its log {log_path} is empty.",
    ]
    return " ".join(part for part in parts if part)


def _known_failure(log: Sequence[str]) -> tuple[str, str] | None:
    """The line of a failure that is known, and its remedy. Lines of code, which a traceback indents, do not count."""
    lines = [plain(line) for line in log]
    for pattern, remedy in _KNOWN_FAILURES:
        for line in lines:
            if line[:1].strip() and re.search(pattern, line):
                return line.strip(), remedy
    return None


def output_problems(tensors: Mapping[str, Mapping[str, str] | str], texts: Mapping[str, str]) -> list[str]:
    """What is wrong with what the merger wrote.

    ``tensors`` are the tensors of each safetensors file with their types, or why it is not whole; ``texts`` the content
    of config.json and of model.safetensors.index.json, as far as they exist.
    """
    problems = [f"{name} is {found}" for name, found in sorted(tensors.items()) if isinstance(found, str)]
    weights = {name for name in tensors if "/" not in name}
    if not weights:
        problems.append("no weights (*.safetensors) were written")
    if not isinstance(_loads(texts.get("config.json", "")), dict):
        problems.append("config.json is missing or broken")
    if "model.safetensors.index.json" in texts:
        index = _loads(texts["model.safetensors.index.json"])
        places = index.get("weight_map") if isinstance(index, dict) else None
        if not isinstance(places, dict) or not places:
            problems.append("model.safetensors.index.json is broken")
        else:
            problems += [f"{name} is missing" for name in sorted(set(places.values()) - weights)]
            problems += [
                f"{place} does not hold {tensor}"
                for tensor, place in sorted(places.items())
                if place in tensors and tensor not in tensors[place]
            ][:5]
    return problems


def true_config(config: str, tensors: Mapping[str, Mapping[str, str] | str]) -> tuple[str, str]:
    """The config.json that declares the type that the weights really have, and what was changed for it.

    verl's merger writes bfloat16 and leaves the configuration of a critic at the float32 of the training. Who loads
    such a model by its declared type takes twice the memory, or another type altogether.
    """
    types = {kind for found in tensors.values() if isinstance(found, Mapping) for kind in found.values()}
    floating = types & set(_TYPE_NAMES)
    document = _loads(config)
    if len(floating) != 1 or not isinstance(document, dict):
        return config, ""
    real = _TYPE_NAMES[floating.pop()]
    changes = []
    for part in [document, *(value for key, value in document.items() if key in _PARTS and isinstance(value, dict))]:
        for key in ("dtype", "torch_dtype"):
            if part.get(key) not in (None, real):
                changes.append(f"{key} {part[key]} to {real}")
                part[key] = real
    if not changes:
        return config, ""
    return json.dumps(document, indent=2, sort_keys=True) + "\n", f"config.json: {', '.join(sorted(set(changes)))}"


def _loads(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return None


def make_manifest(
    source: Source, versions: Mapping[str, str], files: Sequence[Mapping[str, Any]], created: str, adjusted: str = ""
) -> dict[str, Any]:
    """``files`` are dictionaries with path, size, sha256 and mtime_ns; ``adjusted`` is what true_config changed."""
    return {
        **planned_manifest(source),
        "versions": dict(versions),
        "created": created,
        "adjusted": adjusted,
        "files": [dict(item) for item in files],
        "digest": _digest([[item["path"], item["sha256"]] for item in files]),
    }


def planned_manifest(source: Source) -> dict[str, Any]:
    """What the manifest is known to say before the merge has run."""
    return {
        "source": source.path,
        "step": source.step,
        "component": source.component,
        "engine": ENGINE,
        "world_size": source.world_size,
        "source_digest": source.digest,
        "source_shards": list(source.shards),
    }


def read_manifest(text: str) -> dict[str, Any]:
    """The manifest, empty when it is not one."""
    document = _loads(text)
    if not isinstance(document, dict) or not isinstance(document.get("digest"), str):
        return {}
    files = document.get("files")
    if not isinstance(files, list) or not all(
        isinstance(item, dict) and isinstance(item.get("path"), str) and isinstance(item.get("sha256"), str)
        for item in files
    ):
        return {}
    return document


def manifest_damage(
    manifest: Mapping[str, Any], present: Mapping[str, tuple[int, int]], sha256_of: Callable[[str], str]
) -> list[str]:
    """How the files differ from the manifest. ``present`` maps a path to its size and mtime in ns.

    A file with the size and time of the manifest is taken as it is; another is read, so that a copied model is whole.
    """
    damage = []
    for item in manifest["files"]:
        path = item["path"]
        if path not in present:
            damage.append(f"{path} is missing")
        elif present[path][0] != item.get("size"):
            damage.append(f"{path} has {present[path][0]} bytes, not {item.get('size')}")
        elif present[path][1] != item.get("mtime_ns") and sha256_of(path) != item["sha256"]:
            damage.append(f"{path} has other content")
    return damage


def describe(manifest: Mapping[str, Any]) -> str:
    """The manifest as a person reads it in a diff."""
    if not manifest:
        return ""
    lines = [
        f"global_step_{manifest.get('step')}/{manifest.get('component')}, merged by {manifest.get('engine')}",
        f"source: {manifest.get('source')}",
        f"source digest: {manifest.get('source_digest')}",
        f"shards: {len(manifest.get('source_shards', []))}",
    ]
    lines += [f"file: {item['path']}  {human(item['size'])}" for item in manifest.get("files", [])]
    return "\n".join(lines) + "\n"
