# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Rule reward for verl (``reward.custom_reward_function.path``). Standard library only: the file is copied out."""

from __future__ import annotations

import re
from typing import Any


def compute_score(
    data_source: str, solution_str: str, ground_truth: str, extra_info: dict[str, Any] | None = None, **_: Any
) -> float:
    """1.0 for the right sum as the first number; otherwise half the share of digits in the answer, 0.0 to 0.5.

    The second, dense part is what a random model can improve on within a few steps.
    """
    numbers = re.findall(r"\d+", solution_str)
    if numbers and int(numbers[0]) == int(ground_truth):
        return 1.0
    digits = sum(character in "0123456789" for character in solution_str)
    return 0.5 * digits / max(1, len(solution_str))
