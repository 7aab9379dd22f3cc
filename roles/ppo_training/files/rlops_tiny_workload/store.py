# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Puts a workload in its place: built beside it, renamed when complete. One builder of a root at a time."""

from __future__ import annotations

import shutil
from pathlib import Path

from . import manifest, spec

_OURS = {spec.MODEL, spec.TRAIN, spec.TEST, spec.REWARD, manifest.NAME, "__pycache__"}


class ForeignFolderError(ValueError):
    """The root is a folder that this program did not make."""


def damage(root: Path) -> list[str]:
    """Why a build is needed; empty if the workload under ``root`` is whole."""
    if not root.exists():
        return ["workload: not there"]
    foreign = sorted(path.name for path in root.iterdir() if path.name not in _OURS) if root.is_dir() else [root.name]
    if foreign:
        raise ForeignFolderError(
            f"{root}: found {', '.join(foreign[:5])}, wanted a folder with nothing but a workload. Choose another root."
        )
    return manifest.damage(root)


def replace(root: Path) -> None:
    """Build the workload anew and put it under ``root``, where no half of one ever lies."""
    building = root.with_name(f".{root.name}.building")
    discarded = root.with_name(f".{root.name}.discarded")
    for leftover in (building, discarded):  # of a run that was killed
        shutil.rmtree(leftover, ignore_errors=True)
    building.mkdir(parents=True)
    _build(building)
    manifest.write(building)
    if root.exists():
        root.rename(discarded)
    building.rename(root)
    shutil.rmtree(discarded, ignore_errors=True)


def _build(folder: Path) -> None:
    # Imported here: checking a workload that is whole takes a moment, importing torch takes seconds.
    from . import dataset, model, tokenizer

    words = tokenizer.build()
    words.save_pretrained(folder / spec.MODEL)
    model.build(words).save_pretrained(folder / spec.MODEL)
    dataset.write(folder / spec.TRAIN, "train", spec.TRAIN_ROWS)
    dataset.write(folder / spec.TEST, "test", spec.TEST_ROWS)
    shutil.copyfile(Path(__file__).with_name("reward.py"), folder / spec.REWARD)
