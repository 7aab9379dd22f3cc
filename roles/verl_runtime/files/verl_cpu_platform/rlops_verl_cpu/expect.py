# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Checks that a thing of verl still is what a patch was written for."""

from __future__ import annotations

import inspect
from typing import Any

from .errors import CpuPlatformError

SUPPORTED_VERL = "0.9.1"


def attribute(owner: Any, name: str) -> Any:
    """Return ``owner.name``; refuse if verl no longer has it."""
    try:
        return getattr(owner, name)
    except AttributeError:
        raise mismatch(_place(owner, name), found="no such name", wanted="it to exist") from None


def function(owner: Any, name: str, parameters: tuple[str, ...]) -> Any:
    """Return the function or class ``owner.name``; refuse unless its parameters have exactly these names."""
    target = attribute(owner, name)
    found = tuple(inspect.signature(target).parameters) if callable(target) else None
    if found != parameters:
        raise mismatch(_place(owner, name), found=f"parameters {found}", wanted=f"parameters {parameters}")
    return target


def mapping(owner: Any, name: str, key: Any) -> dict[Any, Any]:
    """Return the dict ``owner.name``; refuse unless it is one and has ``key`` (a sample of its key form)."""
    target = attribute(owner, name)
    if not isinstance(target, dict) or key not in target:
        raise mismatch(_place(owner, name), found=repr(target), wanted=f"a dict with the key {key!r}")
    return target


def mismatch(place: str, *, found: str, wanted: str) -> CpuPlatformError:
    """The error for a place in verl that is not as expected."""
    import verl

    return CpuPlatformError(
        f"rlops-verl-cpu was written for verl {SUPPORTED_VERL}, this is verl {verl.__version__}: "
        f"{place}: found {found}, wanted {wanted}. "
        f"Install verl {SUPPORTED_VERL}, or a release of rlops-verl-cpu for verl {verl.__version__}."
    )


def _place(owner: Any, name: str) -> str:
    prefix = f"{owner.__module__}.{owner.__qualname__}" if inspect.isclass(owner) else owner.__name__
    return f"{prefix}.{name}"
