# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The form in which everything here is reported: checks and details, as in the other verdicts of the collection."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Report:
    """``checks`` are dictionaries with name, ok, level, found, wanted and remedy; ``details`` are facts."""

    checks: list[dict[str, Any]] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)

    def check(self, name: str, ok: bool, found: object, wanted: object, remedy: str = "", level: str = "error") -> bool:
        self.checks.append(
            {"name": name, "ok": bool(ok), "level": level, "found": str(found), "wanted": str(wanted),
             "remedy": "" if ok else remedy}
        )  # fmt: skip
        return bool(ok)


def few(names: list[str], limit: int = 4) -> str:
    """``a, b, c, d and 3 more``."""
    shown = ", ".join(names[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"


def first_line(error: BaseException) -> str:
    """An exception on one line, short enough for a table."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {(lines or [''])[0][:300]}"
