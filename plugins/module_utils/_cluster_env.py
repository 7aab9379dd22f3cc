# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The environment of a training node, computed from what is installed and where the head is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.rlops.verl.plugins.module_utils._hydra import type_name
from ansible_collections.rlops.verl.plugins.module_utils._python import version_key
from ansible_collections.rlops.verl.plugins.module_utils._secrets import is_secret
from ansible_collections.rlops.verl.plugins.module_utils._verdict import check

# Releases from which a variable is no longer wanted: torch made the behaviour its default, vLLM dropped the variable.
_RECORD_STREAMS_GONE = (2, 8)
_ATTENTION_BACKEND_GONE = (0, 13)


def environment(
    processors: int,
    interface: str,
    accelerator: str,
    distributions: Mapping[str, str],
    attention_backend: str = "",
    extra: Mapping[str, Any] | None = None,
) -> dict[str, str]:
    """Variables of a node; ``distributions`` are the installed packages (lower case) with their versions."""
    variables = {
        "NUMEXPR_MAX_THREADS": str(processors),
        "GLOO_SOCKET_IFNAME": interface,
    }
    if processors < 16:
        # TransferQueue takes 8 threads, and complains at each call on a host with fewer cores.
        variables["TQ_NUM_THREADS"] = str(max(1, processors // 2))
    if accelerator == "cpu":
        variables["VERL_PLATFORM"] = "cpu"
    else:
        variables["NCCL_SOCKET_IFNAME"] = interface
        torch = distributions.get("torch")
        if torch and version_key(torch)[:2] < _RECORD_STREAMS_GONE:
            variables["TORCH_NCCL_AVOID_RECORD_STREAMS"] = "1"
    if "mkl" in distributions or "mkl-service" in distributions:
        variables["MKL_THREADING_LAYER"] = "GNU"
        variables["MKL_SERVICE_FORCE_INTEL"] = "1"
    vllm = distributions.get("vllm")
    if attention_backend and vllm and version_key(vllm)[:2] < _ATTENTION_BACKEND_GONE:
        variables["VLLM_ATTENTION_BACKEND"] = attention_backend
    for name, value in (extra or {}).items():
        if value is None:
            variables.pop(name, None)
        else:
            variables[name] = as_text(value)
    return variables


def as_text(value: object) -> str:
    """A YAML value as the text of a variable: switches become 1 and 0."""
    if isinstance(value, bool):
        return "1" if value else "0"
    return str(value).strip() if isinstance(value, str) else str(value)


def env_file(variables: Mapping[Any, Any]) -> str:
    """An environment file in the form that systemd reads. Raises ValueError for names and values it cannot hold."""
    lines = []
    for name, value in sorted(variables.items(), key=lambda item: str(item[0])):
        if not (isinstance(name, str) and name.isascii() and name.isidentifier()):
            raise ValueError(f"environment: found the name {name!r}, wanted letters, digits and underscores")
        if isinstance(value, (bool, int, float)):
            value = as_text(value)
        if not isinstance(value, str):
            raise ValueError(f"environment: found a value of the type {type_name(value)} in {name}, wanted text")
        if any(character in value for character in "\n\r\0"):
            raise ValueError(f"environment: found a line break in {name}, wanted one line")
        plain = all(character.isalnum() or character in "_-./:,+=@%" for character in value)
        quoted = '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
        lines.append(f"{name}={value if plain else quoted}")
    return "\n".join(lines) + "\n"


def env_checks(wanted: Mapping[str, Mapping[str, str]], found: Mapping[str, Mapping[str, str]]) -> list[dict[str, Any]]:
    """Compare what each node (by address) was given with what a Ray task on it sees."""
    checks = []
    for address, variables in sorted(wanted.items()):
        seen = found.get(address)
        if seen is None:
            problem = "no Ray task ran on this node"
        else:
            wrong = [(name, value) for name, value in sorted(variables.items()) if seen.get(name) != value]
            problem = "; ".join(
                f"{name} with another value"
                if is_secret(name)
                else f"{name}={seen.get(name, '(unset)')} instead of {value}"
                for name, value in wrong
            )
        checks.append(
            check(
                f"environment of {address}",
                not problem,
                problem or f"{len(variables)} variables as declared",
                "the variables of the environment file, in a Ray task",
                "Restart Ray on this node, so that it reads its environment file.",
            )
        )
    return checks
