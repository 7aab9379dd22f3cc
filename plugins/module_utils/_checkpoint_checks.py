# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The checks of the stage "checkpoint": is there a step to merge, and what should a person know beside it."""

from __future__ import annotations

from typing import Any

from ansible_collections.rlops.verl.plugins.module_utils._checkpoint_summary import (
    NEWEST,
    StepSummary,
    Summary,
    step_number,
)
from ansible_collections.rlops.verl.plugins.module_utils._verdict import check


def checkpoint_checks(summary: Summary, step: int | str = NEWEST) -> list[dict[str, Any]]:
    """Judge the summary of a run of which ``step`` was asked for."""
    checks = [_directory_check(summary)]
    if checks[0]["ok"]:
        number = step_number(step)
        checks.append(_newest_check(summary) if number is None else _number_check(summary, number))
        checks += [_warning("checkpoint layout", text) for text in summary["warnings"]]
        checks += _beside_the_choice(summary)
    return checks


def _directory_check(summary: Summary) -> dict[str, Any]:
    ok = summary["exists"] and not summary["unreadable"]
    return check(
        "checkpoint directory",
        ok,
        found="; ".join(summary["unreadable"]) or ("there" if summary["exists"] else "absent"),
        wanted="the directory that the run saves to (trainer.default_local_dir)",
        remedy="" if ok else "Set checkpoint_merge_source to it.",
    )


def _newest_check(summary: Summary) -> dict[str, Any]:
    steps, wanted = summary["steps"], f"a step with all files of {', '.join(summary['components'])}"
    if summary["chosen"] is not None:
        return check("complete step", True, f"step {summary['chosen']} of {_numbers(steps)}", wanted)
    mergeable = [item["step"] for item in steps if item["mergeable"]]
    if mergeable:
        remedy = f"Its model can be merged all the same: set checkpoint_merge_step to {mergeable[-1]}."
    elif steps:
        remedy = (
            "Bring the missing files to one host (configuration and tokenizer are those of the trained model), "
            "or train on and save again."
        )
    else:
        remedy = "Nothing was saved: set trainer.save_freq of the run."
    found = "; ".join(_why(item) for item in reversed(steps)) or "no step"
    return check("complete step", False, found, wanted, remedy)


def _number_check(summary: Summary, number: int) -> dict[str, Any]:
    wanted = f"step {number} with all files that a merge of {', '.join(summary['components'])} needs"
    if summary["chosen"] is not None:
        return check("complete step", True, f"step {number}", wanted)
    item = next((entry for entry in summary["steps"] if entry["step"] == number), None)
    found = _why(item) if item is not None else f"steps {_numbers(summary['steps'])}"
    other = summary["newest"] if summary["newest"] is not None else NEWEST
    return check("complete step", False, found, wanted, f"Set checkpoint_merge_step to {other}.")


def _beside_the_choice(summary: Summary) -> list[dict[str, Any]]:
    """Newer steps that were passed over, and oddities of the chosen one."""
    checks: list[dict[str, Any]] = []
    chosen = summary["chosen"]
    if chosen is None:
        return checks
    for item in summary["steps"]:
        if item["step"] > chosen and not item["whole"]:
            checks.append(_warning("newer step", _why(item)))
        if item["step"] == chosen:
            if not item["whole"]:
                checks.append(_warning("training state", _why(item)))
            for name in summary["components"]:
                checks += [_warning("checkpoint files", text) for text in item["components"][name]["warnings"]]
    return checks


def _warning(name: str, found: str) -> dict[str, Any]:
    return check(name, False, found, level="warning")


def _numbers(steps: list[StepSummary]) -> str:
    return ", ".join(str(item["step"]) for item in steps) or "none"


def _why(item: StepSummary) -> str:
    return f"step {item['step']} is not whole: {'; '.join(item['problems'])}"
