# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The work of a merge on this host's disk; what it means is decided in _checkpoint_merge.

Whenever it is interrupted, the destination is as it was or complete. See _atomic_directory.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from ansible_collections.rlops.verl.plugins.module_utils import _atomic_directory, _checkpoint_merge
from ansible_collections.rlops.verl.plugins.module_utils._checkpoint import audit_component
from ansible_collections.rlops.verl.plugins.module_utils._checkpoint_merge import Destination, MergeError, Source
from ansible_collections.rlops.verl.plugins.module_utils._checkpoint_reader import DiskReader
from ansible_collections.rlops.verl.plugins.module_utils._checkpoint_summary import judge_component
from ansible_collections.rlops.verl.plugins.module_utils._logged_command import run_logged
from ansible_collections.rlops.verl.plugins.module_utils._torch_file import TorchFileError, safetensors_types

_VERSIONS = """
import importlib.metadata, json, platform
names = ("verl", "torch", "transformers", "safetensors")
print(json.dumps({"python": platform.python_version(), **{name: importlib.metadata.version(name) for name in names}}))
"""


@dataclass(frozen=True)
class Merger:
    """The environment that merges: its interpreter, its variables, and the seconds that it may take."""

    python: str
    environment: Mapping[str, str]
    timeout: float


@dataclass
class Report:
    """``before`` is the manifest that was there; ``manifest`` the one that is there now, empty when none is."""

    action: str
    before: dict[str, Any]
    manifest: dict[str, Any]
    removed: list[str] = field(default_factory=list)
    seconds: float | None = None


def log_path_of(destination: str) -> str:
    return f"{destination}.merge.log"


def read_source(path: str, host: str) -> Source:
    """Audit the component. Raises MergeError when it cannot be merged."""
    step, name = _checkpoint_merge.step_and_component(path)
    component = audit_component(DiskReader(), path, name)
    judged = judge_component(name, {host: component}, [host])
    if not judged["mergeable"] or judged["world_size"] is None:
        raise MergeError(_checkpoint_merge.incomplete_message(path, host, judged["merge_problems"]))
    return _checkpoint_merge.source_of(component, step, judged["world_size"])


def read_destination(path: str) -> Destination:
    if not os.path.lexists(path):
        return Destination(path, "absent")
    if not os.path.isdir(path):
        return Destination(path, "not a directory")
    entries = tuple(sorted(os.listdir(path)))
    if not entries:
        return Destination(path, "empty")
    try:
        with open(os.path.join(path, _checkpoint_merge.MANIFEST), encoding="utf-8") as file:
            manifest = _checkpoint_merge.read_manifest(file.read())
    except (OSError, UnicodeDecodeError):
        manifest = {}
    if not manifest:
        return Destination(path, "foreign", entries=entries)
    present = {
        name: (status.st_size, status.st_mtime_ns) for name, status in _atomic_directory.files_below(path).items()
    }
    damage = _checkpoint_merge.manifest_damage(
        manifest, present, lambda name: _atomic_directory.sha256_of(os.path.join(path, name))
    )
    return Destination(path, "merged", manifest, tuple(damage), entries)


def plan(source: Source, path: str) -> Report:
    """What ``merge`` would do. Raises MergeError when something is in the way."""
    destination = read_destination(path)
    action = _checkpoint_merge.decide(destination, source)
    return Report(action, destination.manifest, destination.manifest, _atomic_directory.leftovers(path))


def merge(source: Source, path: str, merger: Merger) -> Report:
    """Merge unless it is done. Raises MergeError, OSError, and _wait.Timeout while another merge works there."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with _atomic_directory.locked(path, merger.timeout) as lock:
        report = plan(source, path)
        for leftover in report.removed:
            _atomic_directory.remove(leftover)
        if report.action == "merge":
            report.manifest, report.seconds = _merge(source, path, merger, lock)
    return report


def _merge(source: Source, path: str, merger: Merger, lock: int) -> tuple[dict[str, Any], float]:
    """Merge into a directory beside the destination, describe it, publish it."""
    parent = os.path.dirname(path)
    problem = _checkpoint_merge.space_problem(shutil.disk_usage(parent).free, source, parent)
    if problem:
        raise MergeError(problem)
    versions = _versions(merger)
    partial = _atomic_directory.make_partial(path)
    try:
        seconds, adjusted = _run(source, partial, merger, log_path_of(path), lock)
        _atomic_directory.settle(partial)
        manifest = _describe(source, versions, partial, adjusted)
        with open(os.path.join(partial, _checkpoint_merge.MANIFEST), "w", encoding="utf-8") as file:
            json.dump(manifest, file, indent=2, sort_keys=True)
            file.write("\n")
        _atomic_directory.settle(partial)
        _atomic_directory.publish(partial, path)
    finally:
        _atomic_directory.remove(partial)
    return manifest, seconds


def _versions(merger: Merger) -> dict[str, str]:
    """Versions of the environment that merges."""
    try:
        answer = subprocess.run(
            [merger.python, "-c", _VERSIONS],
            env=merger.environment,
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError as error:
        raise MergeError(
            f"python: found {merger.python}: {error.strerror}, wanted the interpreter of an environment with verl"
        ) from error
    try:
        versions: dict[str, str] = json.loads(answer.stdout.strip().splitlines()[-1])
        return versions
    except (ValueError, IndexError):
        last = (answer.stderr.strip().splitlines() or [f"exit code {answer.returncode}"])[-1]
        raise MergeError(
            f"python: found {merger.python} without a working verl ({last}), wanted one of an environment with verl"
        ) from None


def _run(source: Source, partial: str, merger: Merger, log_path: str, lock: int) -> tuple[float, str]:
    """Run verl's merger; returns its seconds and what was set right. Raises MergeError unless its output is whole."""
    command = _checkpoint_merge.merger_command(merger.python, source.path, partial)
    # In the partial directory, which is empty, "python -m" finds no file that shadows a module.
    outcome = run_logged(command, merger.environment, partial, log_path, merger.timeout, inherited=[lock])
    if outcome.returncode != 0:
        with open(log_path, encoding="utf-8", errors="replace") as file:
            log = file.read().splitlines()
        free = shutil.disk_usage(partial).free
        raise MergeError(
            _checkpoint_merge.failure_message(source, log, log_path, outcome.returncode, merger.timeout, free)
        )
    tensors, texts = read_output(partial)
    problems = _checkpoint_merge.output_problems(tensors, texts)
    if problems:
        raise MergeError(
            f"verl's merger ended well, but its output is not: {'; '.join(problems)}. Its log is {log_path}."
        )
    config, adjusted = _checkpoint_merge.true_config(texts["config.json"], tensors)
    if adjusted:
        with open(os.path.join(partial, "config.json"), "w", encoding="utf-8") as file:
            file.write(config)
    return round(outcome.seconds, 1), adjusted


def read_output(directory: str) -> tuple[dict[str, dict[str, str] | str], dict[str, str]]:
    """Tensors and texts of the merger's output, as _checkpoint_merge.output_problems takes them."""
    reader = DiskReader()
    tensors: dict[str, dict[str, str] | str] = {}
    texts: dict[str, str] = {}
    for name, status in _atomic_directory.files_below(directory).items():
        path = os.path.join(directory, name)

        def read_at(offset: int, length: int, path: str = path) -> bytes:
            return reader.read_at(path, offset, length)

        if name.endswith(".safetensors"):
            try:
                tensors[name] = safetensors_types(read_at, status.st_size)
            except TorchFileError as error:
                tensors[name] = str(error)
        elif name in ("config.json", "model.safetensors.index.json"):
            texts[name] = read_at(0, status.st_size).decode("utf-8", "replace")
    return tensors, texts


def _describe(source: Source, versions: Mapping[str, str], directory: str, adjusted: str) -> dict[str, Any]:
    """The manifest of the files in the directory."""
    files = [
        {
            "path": name,
            "size": status.st_size,
            "mtime_ns": status.st_mtime_ns,
            "sha256": _atomic_directory.sha256_of(os.path.join(directory, name)),
        }
        for name, status in _atomic_directory.files_below(directory).items()
    ]
    created = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return _checkpoint_merge.make_manifest(source, versions, files, created, adjusted)
