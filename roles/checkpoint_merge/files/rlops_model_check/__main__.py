# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""``python -m rlops_model_check --model DIR [--base DIR] [--tokenizer-source DIR] [--prompt TEXT] [--json]``

Prints the checks and ends with 0, also when some are not ok: that is a finding. It ends with 2 when it cannot look.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from pathlib import Path

PROMPT = "What is 3 + 4?"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="rlops_model_check", description="Check a merged model.")
    parser.add_argument("--model", type=Path, required=True, help="directory of the model")
    parser.add_argument("--base", type=Path, help="model that the training started from: the weights must differ")
    parser.add_argument("--tokenizer-source", type=Path, help="directory with the tokenizer that was trained with")
    parser.add_argument("--prompt", default=PROMPT, help="what the model is asked (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON: checks and details")
    return parser.parse_args()


def run(options: argparse.Namespace) -> dict:
    # Here and not above: these take seconds, and a wrong argument should not.
    import transformers

    from . import model, tokenizer, weights
    from .report import Report

    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    report = Report(details={"model_path": str(options.model), "transformers": transformers.__version__})
    auto_class = model.check_architecture(report, options.model)
    tensors = weights.open_model(report, options.model)
    fits = model.check_tensors(report, auto_class, options.model) if auto_class and tensors else False
    if tensors:
        weights.check_values(report, tensors, fits or None)
        if options.base:
            weights.check_trained(
                report, tensors, options.base, options.model / "lora_adapter" / "adapter_model.safetensors"
            )
    loaded = model.load(report, auto_class, options.model) if fits is not False else None
    rows = loaded.get_input_embeddings().weight.shape[0] if loaded is not None else None
    words = tokenizer.check_tokenizer(report, options.model, options.tokenizer_source, rows)
    if loaded is not None and words is not None:
        model.check_forward(report, loaded, words, options.prompt)
    return {"checks": report.checks, "details": report.details}


def main() -> int:
    options = arguments()
    if not options.model.is_dir():
        print(f"--model: found no directory {options.model}", file=sys.stderr)
        return 2
    with contextlib.redirect_stdout(sys.stderr):
        result = run(options)
    if options.json:
        print(json.dumps(result))
    else:
        for item in result["checks"]:
            print(f"{'ok  ' if item['ok'] else item['level']:8}{item['name']}: {item['found']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
