# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The data set: additions, in the columns that verl's RLHF data set reads."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow
from pyarrow import parquet

from . import spec


def rows(split: str, count: int) -> list[dict[str, Any]]:
    """``count`` rows; each split has its own fixed seed."""
    choose = random.Random(f"{spec.SEED}-{split}")
    return [
        _row(split, index, choose.randrange(spec.LARGEST), choose.randrange(spec.LARGEST)) for index in range(count)
    ]


def write(path: Path, split: str, count: int) -> None:
    parquet.write_table(pyarrow.Table.from_pylist(rows(split, count)), path)


def _row(split: str, index: int, a: int, b: int) -> dict[str, Any]:
    return {
        "data_source": spec.DATA_SOURCE,
        "prompt": [{"role": "user", "content": f"What is {a} + {b}?"}],
        "ability": "math",
        "reward_model": {"style": "rule", "ground_truth": str(a + b)},
        "extra_info": {"split": split, "index": index},
    }
