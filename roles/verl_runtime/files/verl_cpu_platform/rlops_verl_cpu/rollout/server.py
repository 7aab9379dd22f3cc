# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The rollout server: a Ray actor that owns one copy of the policy and serves concurrent requests in batches.

It does not import verl: a process less to load it (seconds and 150 MB each) on machines that have few cores.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from .sampler import Sampling, Sequences, sample


@dataclass(frozen=True)
class ServerConfig:
    """What the server needs of verl's rollout and model configuration."""

    model_path: str
    prompt_length: int  # tokens
    response_length: int  # tokens
    seed: int
    trust_remote_code: bool = False


@dataclass
class Sample:
    """One answer. Unpickles, in the process that asked, as verl's own ``TokenOutput``."""

    token_ids: list[int]
    log_probs: list[float] | None
    global_steps: int | None

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _token_output, (self.token_ids, self.log_probs, self.global_steps)


def _token_output(token_ids: list[int], log_probs: list[float] | None, global_steps: int | None) -> Any:
    from verl.workers.rollout.replica import TokenOutput

    # verl calls a sequence "completed" whether an end token or the length ended it
    return TokenOutput(
        token_ids=token_ids,
        log_probs=log_probs,
        stop_reason="completed",
        extra_fields={"global_steps": global_steps},
    )


@dataclass
class _Request:
    prompt_ids: list[int]
    limit: int
    answer: asyncio.Future[tuple[list[int], list[float]]] = field(repr=False)


class HFServer:
    """verl's server contract: ``generate``, weights, and calls about GPU memory that have nothing to do here."""

    def __init__(self, config: ServerConfig) -> None:
        from transformers import AutoModelForCausalLM

        # Ranks and servers share the cores; the node's environment says how many threads each may have.
        torch.set_num_threads(max(1, int(os.environ.get("OMP_NUM_THREADS", "1"))))
        torch.manual_seed(config.seed)
        self.config = config
        self.model = AutoModelForCausalLM.from_pretrained(
            config.model_path, dtype=torch.float32, trust_remote_code=config.trust_remote_code
        ).eval()
        self.eos_ids, self.pad_id = _special_tokens(self.model, config)
        self.global_steps: int | None = None
        self._model_lock = asyncio.Lock()  # weights never change under a running batch
        self._waiting: dict[Sampling, list[_Request]] = {}

    # --- generation ---

    async def generate(
        self,
        prompt_ids: list[int],
        sampling_params: dict[str, Any],
        request_id: str,
        image_data: Any = None,
        video_data: Any = None,
        audio_data: Any = None,
        **_: Any,
    ) -> Sample:
        """Sample one continuation of ``prompt_ids``. Requests that wait for the model are answered as one batch."""
        if image_data or video_data or audio_data:
            raise ValueError("rollout hf takes text only; found image, video or audio data in a prompt")
        request = _Request(list(prompt_ids), self._limit(prompt_ids, sampling_params), asyncio.Future())
        sampling = Sampling.from_verl(sampling_params)
        self._waiting.setdefault(sampling, []).append(request)
        async with self._model_lock:
            # Who gets the model first serves all that wait with the same sampling; those then find their answer.
            if not request.answer.done():
                await self._serve(sampling, self._waiting.pop(sampling))
        token_ids, log_probs = await request.answer
        return Sample(token_ids, log_probs if sampling_params.get("logprobs") else None, self.global_steps)

    async def _serve(self, sampling: Sampling, batch: list[_Request]) -> None:
        prompts, limits = [request.prompt_ids for request in batch], [request.limit for request in batch]
        try:
            result: Sequences = await asyncio.to_thread(
                sample, self.model, prompts, limits, sampling, self.eos_ids, self.pad_id
            )
        except Exception as error:
            for request in batch:
                request.answer.set_exception(error)
            return
        for request, token_ids, log_probs in zip(batch, result.token_ids, result.log_probs, strict=True):
            request.answer.set_result((token_ids, log_probs))

    def _limit(self, prompt_ids: list[int], params: dict[str, Any]) -> int:
        """Tokens that may follow: asked for or configured, and no more than prompt and response have room for."""
        room = self.config.prompt_length + self.config.response_length - len(prompt_ids)
        if room < 1:
            raise ValueError(
                f"a prompt of {len(prompt_ids)} tokens leaves no room in prompt_length {self.config.prompt_length} + "
                f"response_length {self.config.response_length}; raise data.max_prompt_length"
            )
        asked = params.get("max_tokens") or params.get("max_new_tokens") or self.config.response_length
        return max(1, min(asked, room))

    # --- weights ---

    async def load_weights(self, weights: dict[str, torch.Tensor], global_steps: int | None) -> None:
        """Replace all weights. A name that is missing or unknown is an error: half an update would train on noise."""
        async with self._model_lock:
            missing, unexpected = self.model.load_state_dict(weights, strict=False)
            tied = set(getattr(self.model, "all_tied_weights_keys", None) or {})
            missing = [name for name in missing if name not in tied]
            if missing or unexpected:
                raise ValueError(f"weight update does not fit the model: missing {missing}, unexpected {unexpected}")
            self.model.tie_weights()
            if global_steps is not None:
                self.global_steps = global_steps

    # --- verl's control calls: on a GPU they hand memory back and forth between training and rollout ---

    async def ready(self) -> None:
        """Returns once the model is loaded."""

    async def _nothing(self, *_: Any, **__: Any) -> None:
        pass

    wake_up = sleep = clear_kv_cache = release_kv_cache = resume_kv_cache = _nothing
    resume_generation = start_profile = stop_profile = _nothing

    async def abort_all_requests(self, *_: Any, **__: Any) -> None:
        raise NotImplementedError(
            "rollout hf cannot interrupt generation: use trainer.v1.trainer_mode=sync "
            "and actor_rollout_ref.rollout.checkpoint_engine.backend=naive"
        )


def _special_tokens(model: Any, config: ServerConfig) -> tuple[set[int], int]:
    """End tokens and padding token: of the model, else of its tokenizer (verl trains with those)."""
    eos, pad = model.generation_config.eos_token_id, model.generation_config.pad_token_id
    if eos is None or pad is None:
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(config.model_path, trust_remote_code=config.trust_remote_code)
        eos = tokenizer.eos_token_id if eos is None else eos
        pad = tokenizer.pad_token_id if pad is None else pad
    if eos is None:
        raise ValueError(f"{config.model_path}: neither generation_config.json nor the tokenizer names an end token")
    eos_ids = {eos} if isinstance(eos, int) else set(eos)
    return eos_ids, min(eos_ids) if pad is None else pad
