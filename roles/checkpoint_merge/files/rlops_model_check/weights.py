# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The tensors in the files: whole, finite, of the declared type, and different from those of the base model.

One tensor is in memory at a time, whatever the size of the model.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open

from .report import Report, few

REMERGE = "Remove the merged model and run again; if it comes back, merge another step (checkpoint_merge_step)."


class Tensors:
    """The tensors of a directory's safetensors files by name."""

    def __init__(self, files: list[Path]):
        self._files = {}
        for path in files:
            with safe_open(path, framework="pt") as file:
                for name in file.keys():  # noqa: SIM118 -- not a mapping
                    self._files.setdefault(name, path)

    def __len__(self) -> int:
        return len(self._files)

    def __contains__(self, name: str) -> bool:
        return name in self._files

    def names(self) -> list[str]:
        return sorted(self._files)

    @contextmanager
    def reader(self) -> Iterator[Reader]:
        reader = Reader(self._files)
        try:
            yield reader
        finally:
            reader.close()


class Reader:
    """Reads tensors; keeps the file that was read last open."""

    def __init__(self, files: dict[str, Path]):
        self._files = files
        self._path: Path | None = None
        self._open = None

    def read(self, name: str) -> torch.Tensor:
        if self._files[name] != self._path:
            self.close()
            self._path = self._files[name]
            self._open = safe_open(self._path, framework="pt")
            self._open.__enter__()
        return self._open.get_tensor(name)

    def close(self) -> None:
        if self._open is not None:
            self._open.__exit__(None, None, None)
        self._open = self._path = None


def find(directory: Path) -> list[Path]:
    return sorted(directory.glob("*.safetensors"))


def open_model(report: Report, directory: Path) -> Tensors | None:
    """The model's tensors, None when its files cannot be read."""
    files = find(directory)
    try:
        tensors = Tensors(files)
    except (SafetensorError, OSError) as error:
        report.check("weights", False, error, "safetensors files that are whole", REMERGE)
        return None
    found = f"{len(tensors)} tensors in {len(files)} files"
    return (
        tensors if report.check("weights", len(tensors) > 0, found, "safetensors files with tensors", REMERGE) else None
    )


def check_values(report: Report, tensors: Tensors, declared: torch.dtype | None) -> None:
    """No NaN or infinity, and the type that config.json declares."""
    broken, types, parameters = [], {}, 0
    with tensors.reader() as reader:
        for name in tensors.names():
            tensor = reader.read(name)
            parameters += tensor.numel()
            if tensor.is_floating_point():
                types.setdefault(tensor.dtype, []).append(name)
                if not torch.isfinite(tensor).all():
                    broken.append(name)
    report.details["tensors"] = len(tensors)
    report.details["parameters"] = parameters
    report.details["types"] = sorted(str(kind).removeprefix("torch.") for kind in types)
    report.check(
        "finite",
        not broken,
        f"NaN or infinity in {len(broken)} tensors: {few(broken)}" if broken else f"{parameters} finite parameters",
        "finite parameters",
        "The training diverged: merge an earlier step (checkpoint_merge_step).",
    )
    if declared is not None:
        others = sorted(name for kind, names in types.items() if kind != declared for name in names)
        report.check(
            "type",
            not others,
            ", ".join(report.details["types"]) + (f" ({few(others)})" if others else ""),
            f"{str(declared).removeprefix('torch.')}, as config.json says",
            REMERGE,
        )


def check_trained(report: Report, tensors: Tensors, base: Path, adapter: Path) -> None:
    """The weights differ from those of the base model, as far as the merged type can show it."""
    files = find(base)
    if not report.check(
        "base",
        bool(files),
        f"{len(files)} safetensors files in {base}" if base.is_dir() else f"no directory {base}",
        "a model directory with safetensors files",
        "Set checkpoint_merge_base_model to the directory of the model that the training started from, or to nothing.",
    ):
        return
    base_tensors = Tensors(files)
    common = [name for name in tensors.names() if name in base_tensors]
    changed, largest = [], 0.0
    with tensors.reader() as ours, base_tensors.reader() as theirs:
        for name in common:
            new, old = ours.read(name), theirs.read(name)
            if new.shape != old.shape:
                continue  # found by check_tensors, or a base model of another kind
            difference = (new.float() - old.to(new.dtype).float()).abs().max().item() if new.numel() else 0.0
            if difference > 0:
                changed.append(name)
                largest = max(largest, difference)
    report.details["base"] = {
        "path": str(base),
        "compared": len(common),
        "changed": len(changed),
        "largest_difference": largest,
        "only_in_model": sorted(set(tensors.names()) - set(common)),
        "only_in_base": sorted(set(base_tensors.names()) - set(common)),
    }
    found = f"{len(changed)} of {len(common)} tensors differ from the base model, by at most {largest:.3g}"
    trained = bool(changed)
    if not trained and adapter.is_file():
        trained = _adapter_trained(adapter)
        found += f", and the adapter {adapter.parent.name}/ is {'trained' if trained else 'still zero'}"
    report.check(
        "trained",
        trained,
        found,
        "weights that differ from those of the base model",
        "Was anything trained? See the run's learning rate and number of steps, and checkpoint_merge_base_model.",
    )


def _adapter_trained(path: Path) -> bool:
    """The B matrices of a LoRA adapter start at zero."""
    tensors = Tensors([path])
    with tensors.reader() as reader:
        return any(bool(reader.read(name).any()) for name in tensors.names() if "lora_B" in name)
