# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""rlops_model_check on a tiny real model, whole and damaged in every way it is meant to find."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

ROOT = Path(__file__).resolve().parents[2]
PACKAGE_PARENT = ROOT / "roles" / "checkpoint_merge" / "files"
sys.path[:0] = [str(PACKAGE_PARENT), str(ROOT / "tests" / "runtime")]
sys.dont_write_bytecode = True
os.environ["HF_HUB_OFFLINE"] = "1"

from make_fsdp_checkpoint import make_model, make_tokenizer  # noqa: E402
from rlops_model_check.__main__ import PROMPT, run  # noqa: E402

WEIGHTS = "model.safetensors"
ONE = "model.layers.1.mlp.up_proj.weight"


class ModelCheck(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls._folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls._folder.cleanup)
        cls.root = Path(cls._folder.name)
        cls.tokenizer = make_tokenizer()
        cls.base = cls.save("base", "Qwen3ForCausalLM")
        cls.critic = cls.save("critic", "Qwen3ForTokenClassification")
        weights = load_file(cls.base / WEIGHTS)
        cls.good = cls.root / "good"
        shutil.copytree(cls.base, cls.good)
        save_file({name: tensor * 1.25 for name, tensor in weights.items()}, cls.good / WEIGHTS, {"format": "pt"})

    @classmethod
    def save(cls, name: str, class_name: str, **changes: object) -> Path:
        directory = cls.root / name
        make_model(class_name, cls.tokenizer, **changes).to(torch.bfloat16).save_pretrained(directory)
        cls.tokenizer.save_pretrained(directory)
        return directory

    def copy(self, of: Path | None = None) -> Path:
        directory = Path(tempfile.mkdtemp(dir=self.root)) / "model"
        shutil.copytree(of or self.good, directory)
        return directory

    def with_weights(self, change) -> Path:
        directory = self.copy()
        weights = load_file(directory / WEIGHTS)
        change(weights)
        save_file(weights, directory / WEIGHTS, {"format": "pt"})
        return directory

    def with_config(self, of: Path | None = None, **changes: object) -> Path:
        directory = self.copy(of)
        config = json.loads((directory / "config.json").read_text())
        (directory / "config.json").write_text(json.dumps({**config, **changes}))
        return directory

    def check(self, model: Path, base: Path | None = None, source: Path | None = None, prompt: str = PROMPT) -> dict:
        options = argparse.Namespace(model=model, base=base, tokenizer_source=source, prompt=prompt)
        with contextlib.redirect_stderr(io.StringIO()):
            result = run(options)
        result["failed"] = {item["name"]: item["found"] for item in result["checks"] if not item["ok"]}
        json.dumps(result)
        return result

    def assert_fails(self, model: Path, name: str, words: str, **options: object) -> dict:
        result = self.check(model, **options)
        self.assertIn(name, result["failed"])
        self.assertIn(words, result["failed"][name])
        return result

    def test_a_good_actor(self) -> None:
        result = self.check(self.good, base=self.base, source=self.base)
        self.assertEqual(result["failed"], {})
        details = result["details"]
        self.assertEqual(details["class"], "Qwen3ForCausalLM")
        self.assertEqual(details["types"], ["bfloat16"])
        self.assertEqual(details["base"]["changed"], details["base"]["compared"])
        self.assertGreater(details["base"]["largest_difference"], 0)
        self.assertTrue(details["generation"]["tokens"])
        self.assertEqual(details["generation"]["prompt"], PROMPT)

    def test_a_good_critic_is_loaded_as_one_and_does_not_generate(self) -> None:
        result = self.check(self.critic)
        self.assertEqual(result["failed"], {})
        self.assertEqual(result["details"]["class"], "Qwen3ForTokenClassification")
        self.assertNotIn("generation", result["details"])

    def test_a_critic_under_the_name_of_an_actor(self) -> None:
        model = self.with_config(self.critic, architectures=["Qwen3ForCausalLM"])
        self.assert_fails(model, "tensors", "1 missing: lm_head.weight")

    def test_a_missing_tensor(self) -> None:
        result = self.assert_fails(self.with_weights(lambda w: w.pop(ONE)), "tensors", f"1 missing: {ONE}")
        self.assertNotIn("generation", result["details"])

    def test_an_unexpected_tensor(self) -> None:
        model = self.with_weights(lambda w: w.update(extra=torch.zeros(2, dtype=torch.bfloat16)))
        self.assert_fails(model, "tensors", "1 unexpected: extra")

    def test_a_tensor_of_another_shape(self) -> None:
        model = self.with_weights(lambda w: w.update({ONE: w[ONE][:-1].clone()}))
        self.assert_fails(model, "tensors", f"{ONE} [47, 32] for [48, 32]")

    def test_a_file_that_is_cut_off(self) -> None:
        model = self.copy()
        content = (model / WEIGHTS).read_bytes()
        (model / WEIGHTS).write_bytes(content[:-1000])
        self.assertIn("weights", self.check(model, base=self.base)["failed"])

    def test_no_weights_at_all(self) -> None:
        model = self.copy()
        (model / WEIGHTS).unlink()
        self.assert_fails(model, "weights", "0 tensors in 0 files")

    def test_not_a_number_and_infinity(self) -> None:
        for value in (float("nan"), float("inf")):
            model = self.with_weights(lambda w, value=value: w[ONE].view(-1).__setitem__(3, value))
            self.assert_fails(model, "finite", f"NaN or infinity in 1 tensors: {ONE}")

    def test_another_type_than_declared(self) -> None:
        model = self.with_weights(lambda w: w.update({ONE: w[ONE].float()}))
        self.assert_fails(model, "type", f"bfloat16, float32 ({ONE})")

    def test_weights_of_the_base_model(self) -> None:
        self.assert_fails(self.base, "trained", "0 of 25 tensors differ", base=self.base)

    def test_one_changed_weight_is_a_change(self) -> None:
        model = self.with_weights(lambda w: w.update(load_file(self.base / WEIGHTS)) or w[ONE].view(-1).add_(1))
        result = self.check(model, base=self.base)
        self.assertEqual(result["failed"], {})
        self.assertEqual(result["details"]["base"]["changed"], 1)

    def test_rounding_alone_is_no_change(self) -> None:
        base = self.copy(self.base)
        weights = {name: tensor.float() * (1 + 1e-5) for name, tensor in load_file(base / WEIGHTS).items()}
        save_file(weights, base / WEIGHTS, {"format": "pt"})
        self.assert_fails(self.base, "trained", "0 of 25 tensors differ", base=base)

    def test_a_base_model_that_is_not_there(self) -> None:
        self.assert_fails(self.good, "base", "no directory", base=self.root / "absent")

    def test_a_critic_against_the_base_of_the_actor(self) -> None:
        model = self.copy(self.critic)
        weights = {name: tensor * 2 for name, tensor in load_file(model / WEIGHTS).items()}
        save_file(weights, model / WEIGHTS, {"format": "pt"})
        result = self.check(model, base=self.base)
        self.assertEqual(result["failed"], {})
        self.assertEqual(result["details"]["base"]["only_in_base"], ["lm_head.weight"])
        self.assertIn("score.weight", result["details"]["base"]["only_in_model"])

    def test_an_adapter_counts_when_the_base_weights_are_as_before(self) -> None:
        model = self.copy(self.base)
        (model / "lora_adapter").mkdir()
        for value, ok in ((0.0, False), (1.0, True)):
            adapter = {"q.lora_A.weight": torch.ones(2), "q.lora_B.weight": torch.full((2,), value)}
            save_file(adapter, model / "lora_adapter" / "adapter_model.safetensors")
            self.assertEqual("trained" not in self.check(model, base=self.base)["failed"], ok)

    def test_a_tokenizer_that_is_missing(self) -> None:
        model = self.copy()
        (model / "tokenizer.json").unlink()
        self.assert_fails(model, "tokenizer files", "none", source=self.base)

    def test_a_source_without_a_tokenizer(self) -> None:
        source = self.copy(self.base)
        (source / "tokenizer.json").unlink()
        self.assert_fails(self.good, "tokenizer", "no vocabulary", source=source)

    def test_another_tokenizer_than_in_the_checkpoint(self) -> None:
        source = self.copy(self.base)
        make_tokenizer(tokens=280).save_pretrained(source)
        self.assert_fails(self.good, "tokenizer", "another one: vocabulary", source=source)

    def test_another_chat_template_than_in_the_checkpoint(self) -> None:
        source = self.copy(self.base)
        (source / "chat_template.jinja").write_text("{{ messages }}")
        self.assert_fails(self.good, "tokenizer", "another one: chat template", source=source)

    def test_files_that_were_only_written_anew_hold_the_same_tokenizer(self) -> None:
        source = self.copy(self.base)
        document = json.loads((source / "tokenizer.json").read_text())
        (source / "tokenizer.json").write_text(json.dumps(document, separators=(",", ":")))
        result = self.check(self.good, source=source)
        self.assertEqual(result["failed"], {})
        (found,) = [item["found"] for item in result["checks"] if item["name"] == "tokenizer"]
        self.assertIn("rewritten (tokenizer.json)", found)

    def test_a_tokenizer_with_more_tokens_than_the_model(self) -> None:
        model = self.copy()
        tokenizer = make_tokenizer()
        tokenizer.add_tokens([f"<extra {number}>" for number in range(50)])
        tokenizer.save_pretrained(model)
        self.assert_fails(model, "vocabulary", "for 304 rows of the embedding")

    def test_no_chat_template_is_a_warning(self) -> None:
        model = self.copy()
        (model / "chat_template.jinja").unlink()
        result = self.check(model)
        self.assertEqual([item["level"] for item in result["checks"] if not item["ok"]], ["warning"])
        self.assertTrue(result["details"]["generation"]["tokens"])

    def test_an_empty_prompt_without_a_chat_template(self) -> None:
        model = self.copy()
        (model / "chat_template.jinja").unlink()
        self.assert_fails(model, "prompt", "0 tokens", prompt="")

    def test_architectures_that_this_transformers_does_not_know(self) -> None:
        self.assert_fails(self.with_config(model_type="qwen99"), "architecture", "qwen99")
        self.assert_fails(self.with_config(architectures=["Qwen99ForCausalLM"]), "architecture", "Qwen99ForCausalLM")
        self.assert_fails(self.with_config(architectures=None), "architecture", "None")

    def test_a_configuration_that_is_broken(self) -> None:
        model = self.copy()
        (model / "config.json").write_text("{")
        self.assertIn("architecture", self.check(model)["failed"])

    def test_tied_embeddings(self) -> None:
        tied = self.save("tied", "Qwen3ForCausalLM", tie_word_embeddings=True)
        self.assertNotIn("lm_head.weight", load_file(tied / WEIGHTS))
        self.assertEqual(self.check(tied)["failed"], {})
        untied = self.with_config(tie_word_embeddings=True)
        self.assert_fails(untied, "tied embeddings", "two different tensors")

    def test_weights_in_several_files(self) -> None:
        model = self.copy()
        weights = load_file(model / WEIGHTS)
        (model / WEIGHTS).unlink()
        names = sorted(weights)
        places = {name: f"model-0000{1 + (index % 2)}-of-00002.safetensors" for index, name in enumerate(names)}
        for place in set(places.values()):
            part = {name: weights[name] for name in names if places[name] == place}
            save_file(part, model / place, {"format": "pt"})
        index = {"metadata": {"total_size": 1}, "weight_map": places}
        (model / f"{WEIGHTS}.index.json").write_text(json.dumps(index))
        result = self.check(model, base=self.base)
        self.assertEqual(result["failed"], {})
        self.assertEqual(result["details"]["tensors"], len(names))

    def call(self, *arguments: str) -> subprocess.CompletedProcess:
        environment = {**os.environ, "PYTHONPATH": str(PACKAGE_PARENT), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-m", "rlops_model_check", *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    def test_the_program_ends_with_0_also_when_checks_fail(self) -> None:
        model = self.with_weights(lambda w: w.pop(ONE))
        done = self.call("--model", str(model), "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        answer = json.loads(done.stdout)
        self.assertIn("tensors", [item["name"] for item in answer["checks"] if not item["ok"]])

    def test_the_program_ends_with_2_when_there_is_nothing_to_look_at(self) -> None:
        done = self.call("--model", str(self.root / "absent"), "--json")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("found no directory", done.stderr)


if __name__ == "__main__":
    unittest.main()
