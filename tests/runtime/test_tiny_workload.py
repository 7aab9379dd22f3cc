# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The tiny workload: whole or absent, always the same, and usable by verl."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")

from rlops_tiny_workload import reward, spec, store

_folder = tempfile.TemporaryDirectory(prefix="rlops-")
WHOLE = Path(_folder.name) / "whole"


# The program is a process of its own, which finds the package where this one does.
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def command(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rlops_tiny_workload", "--root", str(root), *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=ENVIRONMENT,
    )


def run(root: Path, *arguments: str) -> dict[str, object]:
    result = command(root, *arguments)
    if result.returncode != 0:
        raise AssertionError(result.stderr)
    return json.loads(result.stdout)


def content(root: Path) -> dict[str, str]:
    files = (path for path in root.rglob("*") if path.is_file())
    return {str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def setUpModule() -> None:
    store.replace(WHOLE)


def tearDownModule() -> None:
    _folder.cleanup()


class Building(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="rlops-")
        self.addCleanup(folder.cleanup)
        self.parent = Path(folder.name)
        self.root = self.parent / "made" / "on demand"

    def copy(self) -> Path:
        root = self.parent / "copy"
        subprocess.run(["cp", "-a", WHOLE, root], check=True)
        return root

    def test_the_same_files_every_time_and_the_paths_of_the_parts(self) -> None:
        result = run(self.root)
        self.assertIs(result["changed"], True)
        self.assertEqual(content(self.root), content(WHOLE))
        for part in ("model", "train", "test", "reward"):
            self.assertTrue(Path(str(result[part])).exists(), part)
        self.assertEqual(sorted(path.name for path in self.root.parent.iterdir()), [self.root.name])

    def test_a_whole_one_is_left_alone(self) -> None:
        before = {path: path.stat().st_mtime_ns for path in WHOLE.rglob("*")}
        result = run(WHOLE)
        self.assertEqual((result["changed"], result["damage"]), (False, []))
        self.assertEqual({path: path.stat().st_mtime_ns for path in WHOLE.rglob("*")}, before)

    def test_damage_is_named_and_repaired(self) -> None:
        weights = "model/model.safetensors"
        cases = {
            f"{weights}: content differs from the manifest": lambda root: flip_byte(root / weights),
            "train.parquet: missing": lambda root: (root / "train.parquet").unlink(),
            "manifest.json: missing": lambda root: (root / "manifest.json").unlink(),
            "manifest.json: not readable": lambda root: (root / "manifest.json").write_text("{"),
            "manifest.json: found version 0, wanted 1": lambda root: edit_version(root / "manifest.json", 0),
        }
        for finding, harm in cases.items():
            with self.subTest(finding):
                root = self.copy()
                harm(root)
                harmed = content(root)
                self.assertEqual(run(root, "--check")["damage"], [finding])
                self.assertEqual(content(root), harmed, "--check must not write")
                self.assertEqual(store.damage(root), [finding])
                store.replace(root)
                self.assertEqual(content(root), content(WHOLE))
                subprocess.run(["rm", "-r", root], check=True)

    def test_an_empty_folder_is_filled(self) -> None:
        self.root.mkdir(parents=True)
        self.assertEqual(run(self.root)["damage"], ["manifest.json: missing"])
        self.assertEqual(content(self.root), content(WHOLE))

    def test_a_killed_build_leaves_nothing_under_the_root(self) -> None:
        building = self.root.with_name(f".{self.root.name}.building")
        process = subprocess.Popen(
            [sys.executable, "-m", "rlops_tiny_workload", "--root", str(self.root)],
            env=ENVIRONMENT,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 60
        while not building.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        process.kill()
        process.wait()
        self.assertTrue(building.exists())
        self.assertFalse(self.root.exists())
        self.assertIs(run(self.root)["changed"], True)
        self.assertEqual(content(self.root), content(WHOLE))
        self.assertEqual(sorted(path.name for path in self.root.parent.iterdir()), [self.root.name])

    def test_a_folder_of_someone_else_is_refused_and_not_touched(self) -> None:
        self.root.mkdir(parents=True)
        (self.root / "thesis.txt").write_text("years of work")
        result = command(self.root)
        self.assertEqual(result.returncode, 1)
        self.assertIn("found thesis.txt", result.stderr)
        self.assertEqual((self.root / "thesis.txt").read_text(), "years of work")

    def test_bytecode_beside_the_reward_is_no_damage(self) -> None:
        root = self.copy()
        (root / "__pycache__").mkdir()
        self.assertEqual(store.damage(root), [])


class Contents(unittest.TestCase):
    """Read by the libraries that verl reads it with."""

    def test_tokenizer_and_model_fit(self) -> None:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(WHOLE / spec.MODEL)
        model = AutoModelForCausalLM.from_pretrained(WHOLE / spec.MODEL)
        text = "What is 12 + 7?\nÄ 日本 #### 19"
        self.assertEqual(tokenizer.decode(tokenizer(text)["input_ids"]), text)
        chat = [{"role": "user", "content": "What is 12 + 7?"}]
        prompt = tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_dict=True)["input_ids"]
        self.assertTrue(tokenizer.decode(prompt).endswith("<|im_end|>\n<|im_start|>assistant\n"))
        self.assertLessEqual(len(prompt), 32)
        self.assertEqual(model.config.vocab_size, len(tokenizer))
        self.assertEqual(model.generation_config.eos_token_id, tokenizer.eos_token_id)
        self.assertEqual(model.generation_config.pad_token_id, tokenizer.pad_token_id)
        self.assertEqual(model.dtype, torch.bfloat16)
        self.assertTrue(torch.isfinite(model(torch.tensor([prompt])).logits).all())

    def test_verls_data_set_reads_every_row(self) -> None:
        from omegaconf import OmegaConf
        from transformers import AutoTokenizer
        from verl.utils.dataset.rl_dataset import RLHFDataset

        tokenizer = AutoTokenizer.from_pretrained(WHOLE / spec.MODEL)
        with tempfile.TemporaryDirectory() as cache:
            config = OmegaConf.create({"cache_dir": cache, "max_prompt_length": 32, "filter_overlong_prompts": False})
            data = RLHFDataset(str(WHOLE / spec.TRAIN), tokenizer, config)
            self.assertEqual(len(data), spec.TRAIN_ROWS)
            row = data[0]
        numbers = [
            int(word.strip("?")) for word in row["raw_prompt"][0]["content"].split() if word.strip("?").isdigit()
        ]
        self.assertEqual(row["reward_model"]["ground_truth"], str(sum(numbers)))
        self.assertEqual(row["data_source"], spec.DATA_SOURCE)

    def test_verl_loads_the_reward_file(self) -> None:
        from verl.utils.import_utils import load_extern_object

        score = load_extern_object(str(WHOLE / spec.REWARD), "compute_score")
        self.assertEqual(score(data_source=spec.DATA_SOURCE, solution_str="19", ground_truth="19", extra_info={}), 1.0)


class Reward(unittest.TestCase):
    def score(self, answer: str, truth: str = "19") -> float:
        return reward.compute_score(spec.DATA_SOURCE, answer, truth)

    def test_the_right_number_first_is_full_reward(self) -> None:
        for answer in ("19", "The answer is 19.", "019", "19 or 20"):
            self.assertEqual(self.score(answer), 1.0, answer)

    def test_wrong_answers_get_less_than_half_by_their_digits(self) -> None:
        self.assertEqual(self.score(""), 0.0)
        self.assertEqual(self.score("no idea"), 0.0)
        self.assertEqual(self.score("20"), 0.5)
        self.assertEqual(self.score("20ab"), 0.25)
        self.assertEqual(self.score("119"), 0.5)

    def test_any_text_has_a_score(self) -> None:
        for answer in ("²", "٣", "\x00\ufffd", "9" * 4000):
            self.assertTrue(0 <= self.score(answer) <= 1, answer[:5])

    def test_a_random_model_scores_between_and_more_digits_score_more(self) -> None:
        """The signal that a training of a few steps can follow."""
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        torch.manual_seed(0)
        tokenizer = AutoTokenizer.from_pretrained(WHOLE / spec.MODEL)
        model = AutoModelForCausalLM.from_pretrained(WHOLE / spec.MODEL, dtype=torch.float32)
        digits = torch.tensor(
            [token.isascii() and token.isdigit() for token in tokenizer.convert_ids_to_tokens(range(len(tokenizer)))]
        )
        logits = model(torch.tensor([[5, 6, 7]])).logits[0, -1]
        means = []
        for bias in (0.0, 2.0):
            probabilities = (logits + bias * digits).softmax(-1)
            answers = torch.multinomial(probabilities.expand(200, -1), 16, replacement=True)
            scores = torch.tensor([self.score(tokenizer.decode(answer)) for answer in answers])
            means.append(scores.mean().item())
            self.assertGreater(scores.std().item(), 0.02)
        self.assertTrue(0.05 < means[0] < 0.3, means)
        self.assertGreater(means[1], means[0] + 0.1)


def flip_byte(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


def edit_version(path: Path, version: int) -> None:
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps(manifest | {"version": version}))


if __name__ == "__main__":
    unittest.main()
