# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The one error of this package."""

from __future__ import annotations


class CpuPlatformError(RuntimeError):
    """verl and this package do not fit together, or a setting asks for what a CPU cannot do."""
