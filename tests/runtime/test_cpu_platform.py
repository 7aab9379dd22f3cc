# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The CPU platform against the real verl, torch, transformers and Ray of the runtime environment.

verl chooses its platform once, when it is imported, so `make runtime-tests` starts Python with VERL_PLATFORM=cpu.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

import torch
import verl.utils.distributed
import verl.utils.fsdp_utils
import verl.utils.model
from rlops_tiny_workload import store
from rlops_verl_cpu.errors import CpuPlatformError
from rlops_verl_cpu.patches import process_group
from rlops_verl_cpu.platform import CpuPlatform
from rlops_verl_cpu.rollout import server as server_module
from rlops_verl_cpu.rollout.adapter import HFWeightAdapter
from rlops_verl_cpu.rollout.names import server_name
from rlops_verl_cpu.rollout.replica import HFReplica
from rlops_verl_cpu.rollout.sampler import Sampling, sample
from rlops_verl_cpu.rollout.server import HFServer, Sample, ServerConfig
from torch import distributed
from transformers import AutoConfig, AutoModelForCausalLM, Qwen3Config, Qwen3ForCausalLM
from verl.plugin.platform import get_platform, platform_manager
from verl.utils.device import get_torch_device
from verl.utils.memory_utils import aggressive_empty_cache
from verl.workers.config import RolloutConfig
from verl.workers.rollout.base import get_rollout_class
from verl.workers.rollout.replica import TokenOutput, get_rollout_replica_class

_folder = tempfile.TemporaryDirectory(prefix="rlops-")
ROOT = Path(_folder.name) / "workload"
MODEL = str(ROOT / "model")


def setUpModule() -> None:
    torch.set_num_threads(1)
    store.replace(ROOT)


def tearDownModule() -> None:
    _folder.cleanup()


def python(code: str, **environment: str) -> str:
    """Output of ``code`` in a new interpreter, without the platform's variables unless given."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("VERL_")}
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env=inherited | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode != 0:
        raise AssertionError(result.stderr)
    return result.stdout.strip().splitlines()[-1]


class Platform(unittest.TestCase):
    def test_verl_uses_it_where_it_was_chosen(self) -> None:
        self.assertIsInstance(get_platform(), CpuPlatform)

    def test_auto_detection_never_chooses_it(self) -> None:
        with mock.patch.dict(os.environ):
            del os.environ["VERL_PLATFORM"]
            self.assertNotEqual(platform_manager._detect_platform_name(), "cpu")

    def test_device_module_answers_what_verl_asks(self) -> None:
        device = get_torch_device()
        free, total = device.mem_get_info()
        self.assertTrue(0 < free <= total)
        self.assertEqual(device.max_memory_allocated(), 0)
        self.assertTrue(device.is_available())  # from torch.cpu itself
        aggressive_empty_cache()

    def test_device_random_state_goes_round(self) -> None:
        device = get_torch_device()
        state = device.get_rng_state()
        first = torch.rand(4)
        device.set_rng_state(state)
        self.assertTrue(torch.equal(torch.rand(4), first))

    def test_does_nothing_where_it_was_not_chosen(self) -> None:
        code = (
            "import os, sys, verl\n"
            "from verl.workers.rollout import base\n"
            "print('VERL_ENGINE_DEVICE' in os.environ, ('hf', 'async') in base._ROLLOUT_REGISTRY, "
            "'rlops_verl_cpu.plugin' in sys.modules, 'rlops_verl_cpu.patches' in sys.modules)"
        )
        output = python(code, VERL_USE_EXTERNAL_MODULES="rlops_verl_cpu.plugin")
        self.assertEqual(output, "False False True False")


class UnexpectedVerl(unittest.TestCase):
    """A verl in which a patched place has changed. verl swallows errors of plugins; this one must come out."""

    CODE = (
        "import verl.utils.model, verl.utils.distributed as d\n"
        "own = d.initialize_global_process_group_ray\n"
        "{change}\n"
        "import rlops_verl_cpu.plugin\n"
        "from verl.plugin.platform import get_platform\n"
        "try:\n"
        "    get_platform()\n"
        "except Exception as error:\n"
        "    print(type(error).__name__, own is d.initialize_global_process_group_ray, error)\n"
    )

    def refusal(self, change: str) -> str:
        return python(self.CODE.format(change=change), VERL_PLATFORM="cpu", VERL_USE_EXTERNAL_PLUGINS="none")

    def test_changed_parameters_are_named_and_nothing_is_patched(self) -> None:
        message = self.refusal("verl.utils.model.load_valuehead_model = lambda path, dtype: None")
        self.assertTrue(message.startswith("CpuPlatformError True"), message)
        self.assertIn("written for verl 0.9.1, this is verl 0.9.1: verl.utils.model.load_valuehead_model", message)
        self.assertIn("found parameters ('path', 'dtype')", message)

    def test_missing_name(self) -> None:
        message = self.refusal("del verl.utils.model.load_valuehead_model")
        self.assertIn("verl.utils.model.load_valuehead_model: found no such name", message)

    def test_missing_module(self) -> None:
        message = self.refusal("import sys; sys.modules['verl.workers.rollout.replica'] = None")
        self.assertTrue(message.startswith("CpuPlatformError True"), message)
        self.assertIn("verl.workers.rollout.replica", message)


class Patches(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="rlops-")
        self.addCleanup(folder.cleanup)
        environment = {"RANK": "0", "WORLD_SIZE": "1", "DIST_INIT_METHOD": f"file://{folder.name}/rendezvous"}
        rank = mock.patch.dict(os.environ, environment)
        rank.start()
        self.addCleanup(rank.stop)
        self.addCleanup(verl.utils.distributed.destroy_global_process_group)

    def test_process_group_of_verls_workers(self) -> None:
        from verl.workers import engine_workers  # imports the name, so it must be the patched one

        engine_workers.initialize_global_process_group_ray()
        self.assertEqual(distributed.get_backend_config(), "cpu:gloo")
        value = torch.ones(3)
        distributed.all_reduce(value)
        self.assertEqual(value.tolist(), [1, 1, 1])

    def test_process_group_fails_without_the_patch(self) -> None:
        original = getattr(verl.utils.distributed, process_group._NAME).__wrapped__
        with self.assertRaisesRegex(ValueError, "(?i)duplicate device"):
            original()

    def test_critic_loads_with_the_configured_attention(self) -> None:
        for attention in ("sdpa", "eager", "flash_attention_2"):
            with self.subTest(attention):
                config = AutoConfig.from_pretrained(MODEL, num_labels=1)
                config._attn_implementation = attention
                critic = verl.utils.model.load_valuehead_model(MODEL, torch.float32, config, False)
                wanted = "sdpa" if attention == "flash_attention_2" else attention
                self.assertEqual(critic.config._attn_implementation, wanted)
                self.assertEqual(critic(torch.tensor([[5, 6, 7]])).logits.shape, (1, 3, 1))

    def test_offload_policy_computes_the_same_without_pinned_memory(self) -> None:
        from torch.distributed.fsdp import fully_shard
        from verl.workers.engine.fsdp import transformer_impl

        verl.utils.distributed.initialize_global_process_group_ray()
        layer, inputs = torch.nn.Linear(8, 8), torch.randn(2, 8)
        wanted = layer(inputs)
        policy = transformer_impl.CPUOffloadPolicy(pin_memory=True)  # as verl asks for a reference model
        self.assertFalse(policy.pin_memory)
        mesh = distributed.init_device_mesh("cpu", (1,))
        sharded = fully_shard(layer, mesh=mesh, offload_policy=policy)
        self.assertTrue(torch.equal(sharded(inputs), wanted))

    def test_engines_are_found_for_the_cpu(self) -> None:
        from verl.workers.engine import EngineRegistry

        for model_type in ("language_model", "value_model"):
            self.assertIn("FSDPEngine", EngineRegistry.get_engine_cls(model_type, "fsdp2").__name__)

    def test_rollout_hf_is_known(self) -> None:
        self.assertIs(get_rollout_class("hf"), HFWeightAdapter)
        self.assertIs(get_rollout_replica_class("hf"), HFReplica)


class ReplicaSettings(unittest.TestCase):
    def replica(self, **settings: object) -> HFReplica:
        config = RolloutConfig(**({"name": "hf", "tensor_model_parallel_size": 1} | settings))
        return HFReplica(replica_rank=0, config=config, model_config=None, gpus_per_node=2)

    def test_one_rank_is_taken(self) -> None:
        self.assertEqual(self.replica().world_size, 1)

    def test_parallel_rollout_is_refused_by_name(self) -> None:
        for name in ("tensor_model_parallel_size", "data_parallel_size", "pipeline_model_parallel_size"):
            with self.subTest(name), self.assertRaisesRegex(CpuPlatformError, f"{name}: found 2, wanted 1"):
                self.replica(**{name: 2})


def plain_log_probs(model: Qwen3ForCausalLM, prompt: list[int], answer: list[int], temperature: float) -> torch.Tensor:
    """Log probabilities of an answer from one forward pass without padding, cache or generate()."""
    with torch.no_grad():
        logits = model(torch.tensor([prompt + answer])).logits[0, len(prompt) - 1 : -1]
    return (logits / temperature).log_softmax(-1).gather(-1, torch.tensor(answer)[:, None])[:, 0]


PROMPTS = [[17, 4, 250], list(range(30, 50)), [99], list(range(200, 211))]


class Sampler(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        torch.manual_seed(1)
        cls.model = AutoModelForCausalLM.from_pretrained(MODEL, dtype=torch.float32).eval()
        with torch.no_grad():  # sharper than the random model, so that a wrong position or mask shows
            cls.model.lm_head.weight *= 15

    def sample(self, prompts: list[list[int]], sampling: Sampling, limit: int = 8, eos: int = 368) -> object:
        return sample(self.model, prompts, [limit] * len(prompts), sampling, {eos}, 369)

    def test_log_probs_of_a_padded_batch_are_those_of_a_plain_forward_pass(self) -> None:
        for temperature in (1.0, 0.7):
            result = self.sample(PROMPTS, Sampling(temperature=temperature))
            for prompt, answer, log_probs in zip(PROMPTS, result.token_ids, result.log_probs, strict=True):
                wanted = plain_log_probs(self.model, prompt, answer, temperature)
                torch.testing.assert_close(torch.tensor(log_probs), wanted, atol=1e-4, rtol=1e-4)

    def test_greedy_in_a_batch_is_greedy_alone(self) -> None:
        greedy = Sampling(temperature=0)
        together = self.sample(PROMPTS, greedy).token_ids
        self.assertEqual(together, [self.sample([prompt], greedy).token_ids[0] for prompt in PROMPTS])

    def test_tokens_are_drawn_with_the_reported_probability(self) -> None:
        draws, tokens = 3000, {}
        result = self.sample([PROMPTS[0]] * draws, Sampling(top_k=6), limit=1)
        for (token,), (log_prob,) in zip(result.token_ids, result.log_probs, strict=True):
            count = tokens.get(token, (0, 0.0))[0]
            tokens[token] = (count + 1, torch.tensor(log_prob).exp().item())
        self.assertLessEqual(len(tokens), 6)
        self.assertAlmostEqual(sum(probability for _count, probability in tokens.values()), 1, delta=0.05)
        for token, (count, probability) in tokens.items():
            deviation = (draws * probability * (1 - probability)) ** 0.5
            self.assertLess(abs(count - draws * probability), 5 * deviation + 1, token)

    def test_top_p_keeps_the_likeliest(self) -> None:
        answers = self.sample([PROMPTS[0]] * 50, Sampling(top_p=1e-6), limit=3).token_ids
        self.assertEqual(answers, [self.sample([PROMPTS[0]], Sampling(temperature=0), limit=3).token_ids[0]] * 50)

    def test_an_end_token_ends_its_row_only(self) -> None:
        greedy = Sampling(temperature=0)
        free = self.sample(PROMPTS, greedy).token_ids
        end = free[0][2]
        stopped = self.sample(PROMPTS, greedy, eos=end).token_ids
        for before, after in zip(free, stopped, strict=True):
            cut = before.index(end) + 1 if end in before else len(before)
            self.assertEqual(after, before[:cut])

    def test_each_row_has_its_own_limit(self) -> None:
        limits = [1, 5, 3, 8]
        result = sample(self.model, PROMPTS, limits, Sampling(), {400}, 369)
        self.assertEqual([len(answer) for answer in result.token_ids], limits)
        self.assertEqual([len(log_probs) for log_probs in result.log_probs], limits)

    def test_unknown_sampling_parameter_is_an_error(self) -> None:
        with self.assertRaisesRegex(ValueError, "min_p"):
            Sampling.from_verl({"temperature": 1.0, "min_p": 0.1})


ASK = {"temperature": 1.0, "top_p": 1.0, "top_k": -1, "repetition_penalty": 1.0, "logprobs": True}  # as verl sends it


class Server(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.server = HFServer(ServerConfig(MODEL, prompt_length=32, response_length=8, seed=3))

    async def ask(self, prompt: list[int], **params: object) -> Sample:
        return await self.server.generate(prompt, ASK | params, "request")

    async def test_waiting_requests_share_a_batch_and_get_their_own_answer(self) -> None:
        prompts = [[index + 1] * (index + 1) for index in range(12)]
        with mock.patch.object(server_module, "sample", side_effect=sample) as calls:
            answers = await asyncio.gather(*map(self.ask, prompts))
        self.assertLessEqual(calls.call_count, 2)
        for prompt, answer in zip(prompts, answers, strict=True):
            wanted = plain_log_probs(self.server.model, prompt, answer.token_ids, 1.0)
            torch.testing.assert_close(torch.tensor(answer.log_probs), wanted, atol=1e-4, rtol=1e-4)

    async def test_different_sampling_is_not_mixed(self) -> None:
        with mock.patch.object(server_module, "sample", side_effect=sample) as calls:
            await asyncio.gather(*(self.ask([5], temperature=value) for value in (1.0, 0.5, 1.0, 0.5)))
        used = {call.args[3].temperature: len(call.args[1]) for call in calls.call_args_list}
        self.assertEqual(set(used), {1.0, 0.5})

    async def test_an_error_reaches_every_request_of_the_batch(self) -> None:
        with mock.patch.object(server_module, "sample", side_effect=RuntimeError("no memory")):
            answers = await asyncio.gather(*(self.ask([5]) for _request in range(3)), return_exceptions=True)
        self.assertEqual([str(answer) for answer in answers], ["no memory"] * 3)
        self.assertEqual(len((await self.ask([5])).token_ids), 8)  # and the server goes on

    async def test_new_weights_are_used_and_their_step_is_reported(self) -> None:
        before = await self.ask([5], temperature=0)
        weights = {name: tensor.clone() for name, tensor in self.server.model.state_dict().items()}
        weights["lm_head.weight"] = weights["lm_head.weight"].flip(0)
        await self.server.load_weights(weights, 7)
        after = await self.ask([5], temperature=0)
        self.assertEqual(after.token_ids[0], len(weights["lm_head.weight"]) - 1 - before.token_ids[0])
        self.assertEqual((before.global_steps, after.global_steps), (None, 7))

    async def test_weights_that_do_not_fit_are_refused(self) -> None:
        weights = dict(self.server.model.state_dict())
        weights["extra.weight"] = weights.pop("model.norm.weight")
        with self.assertRaisesRegex(ValueError, r"missing \['model.norm.weight'\], unexpected \['extra.weight'\]"):
            await self.server.load_weights(weights, 1)

    async def test_tied_embeddings_follow_the_embedding(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            config = Qwen3Config.from_pretrained(MODEL, tie_word_embeddings=True)
            Qwen3ForCausalLM(config).save_pretrained(folder)
            server = HFServer(ServerConfig(folder, prompt_length=32, response_length=8, seed=3))
        weights = {name: tensor + 1 for name, tensor in server.model.state_dict().items() if name != "lm_head.weight"}
        await server.load_weights(weights, 1)
        self.assertTrue(torch.equal(server.model.lm_head.weight, weights["model.embed_tokens.weight"]))

    async def test_limits_of_a_request(self) -> None:
        self.assertEqual(len((await self.ask([5] * 38, temperature=0)).token_ids), 2)  # room of 32 + 8 tokens
        self.assertEqual(len((await self.ask([5], temperature=0, max_tokens=3)).token_ids), 3)
        with self.assertRaisesRegex(ValueError, "prompt of 40 tokens.*raise data.max_prompt_length"):
            await self.ask([5] * 40)

    async def test_log_probs_only_where_asked_for(self) -> None:
        self.assertIsNone((await self.ask([5], logprobs=False)).log_probs)

    async def test_images_are_refused(self) -> None:
        with self.assertRaisesRegex(ValueError, "text only"):
            await self.server.generate([5], ASK, "request", image_data=[object()])

    async def test_interrupting_is_refused(self) -> None:
        with self.assertRaisesRegex(NotImplementedError, "trainer_mode=sync"):
            await self.server.abort_all_requests()

    async def test_answers_arrive_as_verls_type(self) -> None:
        answer = pickle.loads(pickle.dumps(await self.ask([5])))
        self.assertIsInstance(answer, TokenOutput)
        self.assertEqual((len(answer.token_ids), len(answer.log_probs), answer.stop_reason), (8, 8, "completed"))

    def test_starts_without_verl(self) -> None:
        self.assertEqual(python("import sys, rlops_verl_cpu.rollout.server; print('verl' in sys.modules)"), "False")


class WeightUpdateOverRay(unittest.TestCase):
    """Adapter and server as verl runs them: two processes, the server a named actor."""

    @classmethod
    def setUpClass(cls) -> None:
        import ray

        cls.ray = ray
        ray.init(address="local", num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        cls.addClassCleanup(ray.shutdown)
        config = ServerConfig(MODEL, prompt_length=32, response_length=8, seed=3)
        cls.server = ray.remote(HFServer).options(name=server_name(0), num_cpus=0, max_concurrency=16).remote(config)
        ray.get(cls.server.ready.remote())

    def adapter(self) -> HFWeightAdapter:
        adapter = HFWeightAdapter.__new__(HFWeightAdapter)
        adapter.replica_rank = 0
        return adapter

    def test_weights_of_a_rank_reach_its_server(self) -> None:
        model = AutoModelForCausalLM.from_pretrained(MODEL, dtype=torch.float32)
        with torch.no_grad():
            model.lm_head.weight[42] += 1000 * model.lm_head.weight[42].sign()
            model.model.norm.weight.copy_(torch.randn_like(model.model.norm.weight))
        with torch.no_grad():
            wanted = model(torch.tensor([[5, 6]])).logits[0, -1].argmax().item()
        asyncio.run(self.adapter().update_weights(iter(model.state_dict().items()), global_steps=2))
        answer = self.ray.get(self.server.generate.remote([5, 6], ASK | {"temperature": 0}, "request"))
        self.assertIsInstance(answer, TokenOutput)
        self.assertEqual(answer.token_ids[0], wanted)
        self.assertEqual(answer.extra_fields, {"global_steps": 2})

    def test_lora_and_deltas_are_refused(self) -> None:
        with self.assertRaisesRegex(CpuPlatformError, "lora.merge=true"):
            asyncio.run(self.adapter().update_weights(iter(()), peft_config={"r": 8}))
        with self.assertRaisesRegex(CpuPlatformError, "delta_flush"):
            asyncio.run(self.adapter().update_weights(iter(()), wire_format="delta_flush"))


if __name__ == "__main__":
    unittest.main()
