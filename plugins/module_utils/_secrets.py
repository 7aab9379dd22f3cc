# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Variables whose values are nobody's business: shown by name, without their value."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

HIDDEN = "********"
_SECRET = re.compile(
    r"(?:^|_)(?:(?:API|ACCESS|SECRET|PRIVATE)_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)(?:_|$)", re.IGNORECASE
)


_PLACE = re.compile(r"_(?:PATH|FILE|DIR)$", re.IGNORECASE)

# A shorter value is no key, and to blot it out wherever it occurs would blot out half of every text.
SHORTEST = 8


def is_secret(name: str) -> bool:
    """True for names such as ``WANDB_API_KEY`` and ``HF_TOKEN``; false for ``TOKENIZERS_PARALLELISM``, ``KEY_FILE``."""
    return _SECRET.search(name) is not None and _PLACE.search(name) is None


def hidden(variables: Mapping[str, Any]) -> dict[str, Any]:
    """The same variables, secret ones without their value."""
    return {name: HIDDEN if is_secret(str(name)) else value for name, value in variables.items()}


def without_keys(variables: Mapping[str, Any]) -> dict[str, Any]:
    """The same variables for telling one declaration from another: keys that may be renewed are hidden.

    A number, a switch or a short text is a setting, whatever its name.
    """
    return {
        name: HIDDEN if is_secret(str(name)) and isinstance(value, str) and len(value) >= SHORTEST else value
        for name, value in variables.items()
    }


def parted(variables: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The variables that anybody may see, and the secret ones."""
    secret = {name: value for name, value in variables.items() if is_secret(str(name))}
    return {name: value for name, value in variables.items() if name not in secret}, secret


def hidden_runtime_env(runtime_env: Mapping[str, Any]) -> dict[str, Any]:
    """Ray's runtime environment of a job, secret variables without their value."""
    shown = dict(runtime_env)
    if isinstance(shown.get("env_vars"), Mapping):
        shown["env_vars"] = hidden(shown["env_vars"])
    return shown
