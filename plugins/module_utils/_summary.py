# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The verdicts of all stages as one block of text for a person."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ansible_collections.rlops.verl.plugins.module_utils._verdict import failed, sentence

_WIDTH = 13


def summary(verdicts: Mapping[str, Mapping[str, Any]], state_dir: str) -> str:
    """Where everything is and how it went, one subject a line.

    ``verdicts`` is stage to verdict. A stage without one is left out, and one that is not ok says why.
    """
    lines: list[str] = []
    for stage, describe in _STAGES.items():
        verdict = verdicts.get(stage)
        if verdict is None:
            continue
        if verdict.get("ok"):
            lines += describe(verdict.get("details") or {})
        problems = [sentence(item) for level in ("error", "warning") for item in failed(list(verdict["checks"]), level)]
        lines += [_line(f"! {stage}", problem) for problem in problems]
    if not lines:
        return f"No stage has been run yet: there is no verdict in {state_dir}."
    return "\n".join([*lines, _line("verdicts", state_dir)])


def _line(subject: str, text: str) -> str:
    return f"{subject:<{_WIDTH}}{text}"


def count(number: int, noun: str) -> str:
    """``1 node``, ``2 nodes``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _runtime(details: Mapping[str, Any]) -> list[str]:
    versions = details.get("versions") or {}
    shown = ", ".join(f"{name} {versions[name]}" for name in ("verl", "ray", "torch", "python") if name in versions)
    return [_line("runtime", f"{shown} in {details.get('environment')}")]


def _cluster(details: Mapping[str, Any]) -> list[str]:
    nodes = details.get("nodes") or {}
    size = f"{count(len(nodes), 'node')}, {count(int(details.get('slots') or 0), 'worker slot')}"
    return [
        _line("cluster", f"{size}: {', '.join(f'{name} ({_address(node)})' for name, node in nodes.items())}"),
        _line("dashboard", f"{details.get('dashboard_url')} (asks for the token in {details.get('token_file')})"),
    ]


def _address(node: Mapping[str, Any]) -> str:
    return f"{node.get('address')}, {count(int(node.get('slots') or 0), 'slot')}"


def _training(details: Mapping[str, Any]) -> list[str]:
    # Of a run that was interrupted, the cluster may have forgotten the metrics of steps that were saved.
    parts = [count(max(int(details.get(name) or 0) for name in ("steps", "saved_step")), "step")]
    if details.get("first_score") is not None:
        parts.append(f"score {details['first_score']:.3f} at first, {details['last_score']:.3f} at last")
    if details.get("seconds_per_step") is not None:
        parts.append(f"{details['seconds_per_step']:.1f} s a step")
    return [
        _line("training", f"{details.get('id')}: {', '.join(parts)}"),
        _line("log", str(details.get("log_path"))),
        _line("metrics", str(details.get("metrics_path"))),
    ]


def _checkpoint(details: Mapping[str, Any]) -> list[str]:
    return [_line("checkpoint", f"step {details.get('step')} in {details.get('source')}")]


def _model(details: Mapping[str, Any]) -> list[str]:
    path, auto = details.get("model_path"), details.get("auto_class")
    generation = details.get("generation") or {}
    size = count(int(details.get("parameters") or 0), "parameter")
    lines = [_line("model", f"{path} ({details.get('class')}, {size})")]
    if generation:
        lines.append(_line("it says", f"{generation.get('prompt')!r} -> {generation.get('text')!r}"))
    if auto:
        lines.append(_line("load it by", f'transformers.{auto}.from_pretrained("{path}")'))
    return lines


_STAGES: dict[str, Callable[[Mapping[str, Any]], list[str]]] = {
    "preflight": lambda details: [],
    "runtime": _runtime,
    "cluster": _cluster,
    "training": _training,
    "checkpoint": _checkpoint,
    "model": _model,
}
