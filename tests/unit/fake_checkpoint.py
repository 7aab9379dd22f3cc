# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Checkpoints as verl lays them out, with small archives in the place of tensors, and a merger in that of verl's."""

from __future__ import annotations

import json
import pickle
import stat
import sys
import zipfile
from pathlib import Path

CONFIG = {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3"}


def torch_file(path: Path, content: object, data: bytes = b"\0" * 4096) -> None:
    """An archive as torch.save writes it: stored entries below the file's name, a pickle of protocol 2 first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(f"{path.stem}/data.pkl", pickle.dumps(content, protocol=2))
        archive.writestr(f"{path.stem}/byteorder", b"little")
        archive.writestr(f"{path.stem}/data/0", data)


def shard(directory: Path, kind: str, world_size: int, rank: int, step: int = 4) -> Path:
    path = directory / f"{kind}_world_size_{world_size}_rank_{rank}.pt"
    content = {
        "model": {"weight": {"_rank": rank, "_coordinate_on_dim": (rank,)}},
        "optim": {"state": {}},
        "extra_state": {"lr_scheduler": {"last_epoch": step}, "rng": {}},
    }[kind]
    torch_file(path, content, bytes([rank + step]) * 4096)
    return path


def rank_0_files(directory: Path, world_size: int, config: dict | None = None) -> None:
    """What rank 0 writes when all shards are there."""
    (directory / "huggingface").mkdir(parents=True, exist_ok=True)
    (directory / "huggingface" / "config.json").write_text(json.dumps(CONFIG if config is None else config))
    (directory / "huggingface" / "tokenizer.json").write_text('{"model": {"vocab": {"a": 0}}}')
    (directory / "huggingface" / "tokenizer_config.json").write_text("{}")
    (directory / "fsdp_config.json").write_text(json.dumps({"FSDP_version": 2, "world_size": world_size}))


def component(directory: Path, world_size: int = 2, ranks: list[int] | None = None, step: int = 4) -> Path:
    """One model of a step: all ranks, or those that lie on one of several hosts."""
    ranks = list(range(world_size)) if ranks is None else ranks
    for rank in ranks:
        for kind in ("model", "optim", "extra_state"):
            shard(directory, kind, world_size, rank, step)
    if 0 in ranks:
        rank_0_files(directory, world_size)
    return directory


def run(root: Path, steps: list[int], world_size: int = 2, components: tuple[str, ...] = ("actor", "critic")) -> Path:
    """A whole run on one host."""
    for step in steps:
        for name in components:
            component(root / f"global_step_{step}" / name, world_size, step=step)
        torch_file(root / f"global_step_{step}" / "data.pt", {"state": step})
    (root / "latest_checkpointed_iteration.txt").write_text(str(steps[-1]))
    return root


def cut(path: Path, keep: float = 0.5) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * keep)])


# Stands in for the interpreter of verl's environment. How it behaves is said by FAKE_MERGER in its environment.
MERGER = f"""#!{sys.executable}
import json, os, pathlib, sys, time
if sys.argv[1] == "-c":
    versions = {{"verl": "0.9.1", "torch": "2.13.0", "transformers": "5.10.4", "safetensors": "0.8"}}
    print(json.dumps({{"python": "3.11.0", **versions}}))
    sys.exit(0)
assert sys.argv[1:4] == ["-m", "verl.model_merger", "merge"], sys.argv
target = pathlib.Path(sys.argv[sys.argv.index("--target_dir") + 1])
source = pathlib.Path(sys.argv[sys.argv.index("--local_dir") + 1])
behaviour = os.environ.get("FAKE_MERGER", "good")
header = json.dumps({{"weight": {{"dtype": "BF16", "shape": [4], "data_offsets": [0, 8]}}}}).encode()
weights = len(header).to_bytes(8, "little") + header + b"12345678"
if behaviour == "cut":
    weights = weights[:-3]
if behaviour != "no weights":
    (target / "model.safetensors").write_bytes(weights)
    (target / "model.safetensors").chmod(0o600)
if behaviour == "hang":
    pathlib.Path(os.environ["FAKE_PID"]).write_text(str(os.getpid()))
    time.sleep(600)
if behaviour == "chain":
    try:
        raise FileNotFoundError("model_world_size_2_rank_1.pt")
    except FileNotFoundError:
        raise ValueError("Repo id must be in the form 'repo_name'")
if behaviour == "full":
    raise OSError(28, "No space left on device")
for name in os.listdir(source / "huggingface"):
    (target / name).write_bytes((source / "huggingface" / name).read_bytes())
print("merged with", os.environ["HF_HUB_OFFLINE"], repr(os.environ["CUDA_VISIBLE_DEVICES"]), os.getcwd() == str(target))
"""


def fake_merger(directory: Path) -> Path:
    path = directory / "python"
    path.write_text(MERGER)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path
