# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The tokenizer is the one that was trained with, not one that a library made up because files were missing."""

from __future__ import annotations

from pathlib import Path

from transformers import AutoTokenizer, PreTrainedTokenizerBase

from .report import Report, few, first_line

FILES = (
    "tokenizer.json", "tokenizer.model", "tokenizer_config.json", "vocab.json", "vocab.txt", "merges.txt",
    "special_tokens_map.json", "added_tokens.json", "chat_template.jinja", "spiece.model", "tekken.json",
)  # fmt: skip
VOCABULARIES = ("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt", "spiece.model", "tekken.json")
LOAD_ERRORS = (OSError, ValueError, KeyError, TypeError, RuntimeError, ImportError, AttributeError)


def load(directory: Path) -> PreTrainedTokenizerBase:
    return AutoTokenizer.from_pretrained(directory, local_files_only=True)


def check_tokenizer(
    report: Report, model: Path, source: Path | None, rows: int | None
) -> PreTrainedTokenizerBase | None:
    """Load it, hold it against the one in ``source`` (when given) and against the rows of the embedding."""
    remedy = (
        "Copy the tokenizer files of the trained model to the checkpoint's huggingface/, "
        "remove the merged model and run again."
    )
    present = [name for name in VOCABULARIES if (model / name).is_file()]
    if not report.check("tokenizer files", bool(present), few(present) or "none", "a vocabulary", remedy):
        return None
    try:
        tokenizer = load(model)
    except LOAD_ERRORS as error:
        report.check("tokenizer", False, first_line(error), "a tokenizer that loads", remedy)
        return None
    report.details["vocabulary"] = len(tokenizer)
    if source is not None:
        _check_same(report, model, source, tokenizer, remedy)
    if rows is not None:
        report.check(
            "vocabulary",
            len(tokenizer) <= rows,
            f"{len(tokenizer)} tokens for {rows} rows of the embedding",
            "no token beyond the embedding",
            remedy,
        )
    return tokenizer


def _check_same(report: Report, model: Path, source: Path, tokenizer: PreTrainedTokenizerBase, remedy: str) -> None:
    """Equal files, or files that load to an equal tokenizer: saving rewrites them."""
    if not any((source / name).is_file() for name in VOCABULARIES):
        report.check("tokenizer", False, f"no vocabulary in {source}", "the tokenizer that was trained with", remedy)
        return
    others = [name for name in FILES if _content(model / name) != _content(source / name)]
    if not others:
        report.check("tokenizer", True, "the files of the checkpoint", "the files of the checkpoint")
        return
    try:
        different = differences(tokenizer, load(source))
    except LOAD_ERRORS as error:
        different = [f"that of the checkpoint does not load ({first_line(error)})"]
    report.check(
        "tokenizer",
        not different,
        f"another one: {few(different)}"
        if different
        else f"the one of the checkpoint, its files rewritten ({few(others)})",
        f"the tokenizer in {source}",
        remedy,
    )


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def differences(one: PreTrainedTokenizerBase, other: PreTrainedTokenizerBase) -> list[str]:
    """In what two loaded tokenizers differ."""
    found = []
    if one.get_vocab() != other.get_vocab():
        found.append(f"vocabulary ({len(one)} and {len(other)} tokens)")
    elif _backend(one) != _backend(other):
        found.append("how text is split")
    if one.special_tokens_map != other.special_tokens_map:
        found.append("special tokens")
    if one.chat_template != other.chat_template:
        found.append("chat template")
    return found


def _backend(tokenizer: PreTrainedTokenizerBase) -> str | None:
    backend = getattr(tokenizer, "backend_tokenizer", None)
    return backend.to_str() if backend is not None else None
