# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What verl loads at the end of ``import verl``, in every process, through the entry point group ``verl.plugins``.

verl swallows an error of a plugin (it logs at DEBUG) and would go on half patched. So an error is kept here, and the
platform raises it when verl asks for the platform: in the driver, before a single actor is started.
"""

from __future__ import annotations

import os

from verl.plugin.platform import PlatformRegistry

from . import expect, platform
from .errors import CpuPlatformError


def selected() -> bool:
    """True where the user chose this platform."""
    return os.environ.get("VERL_PLATFORM", "").strip().lower() == platform.NAME


def activate() -> None:
    """Register the platform and, where it was chosen, apply the patches."""
    if selected():
        # verl registers its FSDP engines for the devices cuda and npu only; this is verl's own override of the look-up.
        os.environ.setdefault("VERL_ENGINE_DEVICE", "cuda")
        try:
            _patch()
        except CpuPlatformError as error:
            platform.refuse(error)
    PlatformRegistry.register(platform=platform.NAME)(platform.CpuPlatform)


def _patch() -> None:
    try:
        from . import patches  # imports the patched modules of verl, so only where they are wanted
    except ImportError as error:
        raise expect.mismatch(error.name or "verl", found=str(error), wanted="an import that works") from error
    patches.apply()


activate()
