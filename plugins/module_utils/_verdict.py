# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Checks and verdicts: the one form in which every stage says what it found.

A *check* is a dict ``{"name", "ok", "level", "found", "wanted", "remedy"}``; ``level`` is ``error`` or
``warning``. A *verdict* is the JSON document of one stage: its checks, the conclusion and details.
"""

from __future__ import annotations

from typing import Any

FIELDS = {"name": str, "ok": bool, "level": str, "found": str, "wanted": str, "remedy": str}
LEVELS = ("error", "warning")


def check(
    name: str, ok: bool, found: object = "", wanted: object = "", remedy: str = "", level: str = "error"
) -> dict[str, Any]:
    """Build a check; ``found`` and ``wanted`` are turned into text, ``remedy`` names what to change."""
    if level not in LEVELS:
        raise ValueError(f"level of check {name}: found {level!r}, wanted one of {', '.join(LEVELS)}")
    return {
        "name": name,
        "ok": bool(ok),
        "level": level,
        "found": str(found),
        "wanted": str(wanted),
        "remedy": remedy,
    }


def malformed(checks: object) -> str | None:
    """Say what is wrong with a list of checks that came from outside, or None."""
    if not isinstance(checks, list):
        return f"checks: found {type(checks).__name__}, wanted a list of checks"
    for position, item in enumerate(checks):
        if not isinstance(item, dict):
            return f"checks[{position}]: found {type(item).__name__}, wanted a dictionary"
        for field, kind in FIELDS.items():
            if not isinstance(item.get(field), kind):
                return f"checks[{position}].{field}: found {item.get(field)!r}, wanted {kind.__name__}"
        if item["level"] not in LEVELS:
            return f"checks[{position}].level: found {item['level']!r}, wanted one of {', '.join(LEVELS)}"
    return None


def failed(checks: list[dict[str, Any]], level: str) -> list[dict[str, Any]]:
    return [item for item in checks if not item["ok"] and item["level"] == level]


def sentence(item: dict[str, Any]) -> str:
    """One check as one sentence: what, found, wanted, remedy."""
    text = f"{item['name']}: found {item['found']}"
    if item["wanted"]:
        text += f", wanted {item['wanted']}"
    return f"{text}. {item['remedy']}".strip() if item["remedy"] else f"{text}."


def failure_message(stage: str, host: str, checks: list[dict[str, Any]]) -> str:
    """All errors of a stage in one message, one line each."""
    errors = failed(checks, "error")
    count = "1 problem" if len(errors) == 1 else f"{len(errors)} problems"
    return "\n".join([f"{stage} on {host}: {count}"] + [f"- {sentence(item)}" for item in errors])


def verdict(
    stage: str, host: str, checked_at: str, checks: list[dict[str, Any]], details: dict[str, Any]
) -> dict[str, Any]:
    """The document of one stage."""
    return {
        "stage": stage,
        "host": host,
        "ok": not failed(checks, "error"),
        "checked_at": checked_at,
        "checks": checks,
        "details": details,
    }


def outcome(document: dict[str, Any] | None) -> Any:
    """What makes two verdicts of a stage differ: the results and details, not the moment or the measured values."""
    if not isinstance(document, dict) or malformed(document.get("checks")):
        return None
    results = sorted((item["name"], item["ok"], item["level"]) for item in document["checks"])
    return document.get("stage"), document.get("ok"), results, document.get("details")
