# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The model as transformers sees it: architecture, names and shapes, loading, a few tokens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors import SafetensorError
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from .report import Report, few, first_line
from .weights import REMERGE

# The end of an architecture's name, and the class that loads it.
AUTO_CLASSES = {
    "ForCausalLM": "AutoModelForCausalLM",
    "ForTokenClassification": "AutoModelForTokenClassification",
    "ForConditionalGeneration": "AutoModelForImageTextToText",
}
LOAD_ERRORS = (OSError, ValueError, KeyError, TypeError, RuntimeError, ImportError, AttributeError, SafetensorError)
NEW_TOKENS = 8


def check_architecture(report: Report, directory: Path) -> type | None:
    """The Auto class for the model, None when this transformers does not know it."""
    try:
        config = json.loads((directory / "config.json").read_text(encoding="utf-8"))
        architecture = (config.get("architectures") or [None])[0]
    except (OSError, ValueError, AttributeError) as error:
        report.check("architecture", False, first_line(error), "a config.json", REMERGE)
        return None
    report.details["architecture"] = architecture
    kind = next((end for end in AUTO_CLASSES if architecture and architecture.endswith(end)), None)
    known = kind is not None and hasattr(transformers, architecture)
    wanted = f"an architecture that transformers {transformers.__version__} can load"
    remedy = "Install a release of verl whose transformers knows the model (verl_release)."
    try:
        transformers.AutoConfig.from_pretrained(directory, local_files_only=True)
    except LOAD_ERRORS as error:
        report.check("architecture", False, first_line(error), wanted, remedy)
        return None
    if not report.check("architecture", known, architecture, wanted, remedy):
        return None
    report.details["auto_class"] = AUTO_CLASSES[kind]
    return getattr(transformers, AUTO_CLASSES[kind])


def _load(auto_class: type, directory: Path, **options: Any) -> tuple[PreTrainedModel, dict[str, Any]]:
    return auto_class.from_pretrained(
        directory,
        local_files_only=True,
        output_loading_info=True,
        ignore_mismatched_sizes=True,
        dtype="auto",
        **options,
    )


def check_tensors(report: Report, auto_class: type, directory: Path) -> torch.dtype | None | bool:
    """Names and shapes in the files against those of the model that config.json describes, built without memory.

    transformers itself pairs them, since it knows which names are tied and which are stored under another name.
    Returns the declared type (None when there is none), or False when the tensors do not fit.
    """
    wanted = "the tensors of the model that config.json describes"
    try:
        try:
            model, info = _load(auto_class, directory, device_map="meta")
        except NotImplementedError:
            # It has to look at values: both names of a tied parameter are in the files.
            model, info = _load(auto_class, directory)
    except LOAD_ERRORS as error:
        report.check("tensors", False, first_line(error), wanted, REMERGE)
        return False
    problems = []
    for what in ("missing", "unexpected"):
        names = sorted(info[f"{what}_keys"])
        if names:
            problems.append(f"{len(names)} {what}: {few(names)}")
    mismatched = [
        f"{name} {list(found)} for {list(shape)}" for name, found, shape in sorted(info["mismatched_keys"], key=str)
    ]
    if mismatched:
        problems.append(f"{len(mismatched)} of another shape: {few(mismatched)}")
    problems += [str(message) for message in info.get("error_msgs") or []]
    expected = len(model.state_dict())
    if not report.check("tensors", not problems, "; ".join(problems) or f"all {expected}", wanted, REMERGE):
        return False
    return getattr(model.config, "dtype", None)


def load(report: Report, auto_class: type, directory: Path) -> PreTrainedModel | None:
    try:
        model, _info = _load(auto_class, directory)
    except LOAD_ERRORS as error:
        report.check("load", False, first_line(error), f"{auto_class.__name__} loads it", REMERGE)
        return None
    report.details["class"] = type(model).__name__
    report.check("load", True, f"{type(model).__name__} by {auto_class.__name__}", f"{auto_class.__name__} loads it")
    _check_tied(report, model)
    return model.eval()


def _check_tied(report: Report, model: PreTrainedModel) -> None:
    """A file that holds two different tensors for one tied parameter is loaded untied, with a warning only."""
    out, into = model.get_output_embeddings(), model.get_input_embeddings()
    if not getattr(model.config, "tie_word_embeddings", False) or out is None or into is None:
        return
    tied = out.weight is into.weight or torch.equal(out.weight, into.weight)
    report.check(
        "tied embeddings", tied, "tied" if tied else "two different tensors", "tied, as config.json says", REMERGE
    )


def check_forward(report: Report, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, prompt: str) -> None:
    """Run the prompt through the model: finite results, and from a generating model a few greedy tokens."""
    inputs = _inputs(report, tokenizer, prompt)
    length = inputs["input_ids"].shape[1]
    if not report.check("prompt", length > 0, f"{length} tokens", "at least one token", "Set checkpoint_merge_prompt."):
        return
    with torch.no_grad():
        try:
            logits = model(**inputs).logits
        except (RuntimeError, IndexError, ValueError, TypeError) as error:
            report.check("forward", False, first_line(error), "finite results", REMERGE)
            return
        finite = bool(torch.isfinite(logits).all())
        found = f"{'finite' if finite else 'NaN or infinite'} results, shape {list(logits.shape)}"
        if not report.check("forward", finite, found, "finite results", REMERGE) or not model.can_generate():
            return
        output = model.generate(**inputs, max_new_tokens=NEW_TOKENS, do_sample=False, pad_token_id=_padding(tokenizer))
    new = output[0, length:].tolist()
    text = tokenizer.decode(new)
    report.details["generation"] = {"prompt": prompt, "tokens": new, "text": text}
    report.check("generation", bool(new), f"{len(new)} tokens: {text!r}", "at least one token", REMERGE)


def _inputs(report: Report, tokenizer: PreTrainedTokenizerBase, prompt: str) -> dict[str, torch.Tensor]:
    if tokenizer.chat_template:
        encoded = tokenizer.apply_chat_template(
            [{"role": "user", "content": prompt}], add_generation_prompt=True, return_tensors="pt", return_dict=True
        )
    else:
        report.check(
            "chat template", False, "none", "a chat template", "Training with chat prompts needs one.", level="warning"
        )
        encoded = tokenizer(prompt, return_tensors="pt")
    return {name: encoded[name] for name in ("input_ids", "attention_mask")}


def _padding(tokenizer: PreTrainedTokenizerBase) -> int | None:
    return tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id
