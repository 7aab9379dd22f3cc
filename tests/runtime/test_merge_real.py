# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""A real FSDP2 checkpoint, written by verl's checkpoint manager, merged by verl's merger as the module does it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import torch
from safetensors.torch import load_file

ROOT = Path(__file__).resolve().parents[2]
PACKAGE_PARENT = ROOT / "roles" / "checkpoint_merge" / "files"

from ansible_collections.rlops.verl.plugins.module_utils import (  # noqa: E402
    _checkpoint_merge,
    _checkpoint_merge_run,
    _model_check,
)
from ansible_collections.rlops.verl.plugins.module_utils._checkpoint import audit_run  # noqa: E402
from ansible_collections.rlops.verl.plugins.module_utils._checkpoint_merge import MergeError  # noqa: E402
from ansible_collections.rlops.verl.plugins.module_utils._checkpoint_reader import DiskReader  # noqa: E402
from ansible_collections.rlops.verl.plugins.module_utils._checkpoint_summary import combine  # noqa: E402

ENVIRONMENT = _checkpoint_merge.merger_environment(os.environ, {})


def make(root: Path, class_name: str, world_size: int) -> None:
    script = Path(__file__).with_name("make_fsdp_checkpoint.py")
    command = [sys.executable, "-W", "ignore", str(script), str(root), class_name, str(world_size)]
    subprocess.run(command, env=ENVIRONMENT, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def check(model: Path, base: Path, source: Path) -> tuple[list, dict]:
    command = _model_check.check_command(sys.executable, str(model), str(base), str(source / "huggingface"), None)
    environment = _model_check.check_environment(os.environ, str(PACKAGE_PARENT), {})
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return _model_check.parse_answer(done.stdout.splitlines())


class RealMerge(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.merger = _checkpoint_merge_run.Merger(sys.executable, ENVIRONMENT, 600)

    def merge(self, source: Path, dest: Path) -> _checkpoint_merge_run.Report:
        return _checkpoint_merge_run.merge(
            _checkpoint_merge_run.read_source(str(source), "here"), str(dest), self.merger
        )

    def assert_merged(self, class_name: str, component: str, world_size: int) -> None:
        make(self.root, class_name, world_size)
        summary = combine({"here": audit_run(DiskReader(), str(self.root))}, [component])
        self.assertEqual(summary["newest"], 4)
        self.assertTrue(summary["steps"][0]["resumable"])
        source, dest = self.root / "global_step_4" / component, self.root / "models" / "global_step_4" / component

        report = self.merge(source, dest)
        self.assertEqual(report.action, "merge")
        merged, trained = load_file(dest / "model.safetensors"), torch.load(self.root / "full.pt")
        self.assertEqual(merged.keys(), trained.keys())
        for name, tensor in trained.items():
            self.assertTrue(torch.equal(merged[name], tensor.bfloat16()), name)
        self.assertEqual(json.loads((dest / "config.json").read_text())["dtype"], "bfloat16")
        self.assertEqual(self.merge(source, dest).action, "none")

        checks, details = check(dest, self.root / "base", source)
        self.assertEqual([item for item in checks if not item["ok"]], [])
        self.assertEqual(details["class"], class_name)
        self.assertGreater(details["base"]["changed"], 0)

    def test_an_actor_of_two_ranks(self) -> None:
        self.assert_merged("Qwen3ForCausalLM", "actor", 2)
        source = self.root / "global_step_4" / "actor"
        zero, one = (source / f"model_world_size_2_rank_{rank}.pt" for rank in (0, 1))
        shutil.copy(zero, self.root / "zero")
        shutil.copy(one, zero)
        shutil.copy(self.root / "zero", one)
        with self.assertRaisesRegex(MergeError, "rank_0.pt on here holds the shard of rank 1"):
            _checkpoint_merge_run.read_source(str(source), "here")

    def test_a_critic_of_one_rank(self) -> None:
        self.assert_merged("Qwen3ForTokenClassification", "critic", 1)

    def test_an_architecture_that_the_merger_does_not_know(self) -> None:
        make(self.root, "Qwen3ForCausalLM", 1)
        source, dest = self.root / "global_step_4" / "actor", self.root / "models" / "actor"
        config = source / "huggingface" / "config.json"
        config.write_text(config.read_text().replace('"qwen3"', '"qwen99"'))
        with self.assertRaisesRegex(MergeError, "does not recognize this architecture.*too old"):
            self.merge(source, dest)
        self.assertEqual([path.name for path in dest.parent.iterdir()], ["actor.merge.log"])


if __name__ == "__main__":
    unittest.main()
