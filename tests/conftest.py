# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Make this checkout importable: the collection under its own name, and the packages that roles bring along."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COLLECTIONS = ROOT / ".ansible" / "collections"

link = COLLECTIONS / "ansible_collections" / "rlops" / "verl"
if not link.exists():
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to("../../../..", target_is_directory=True)

# A package lies in its role's files, as it is or in a folder of its own with a pyproject.toml.
packages = {init.parents[1] for depth in ("*", "*/*") for init in ROOT.glob(f"roles/*/files/{depth}/__init__.py")}

sys.path[:0] = [str(COLLECTIONS), *sorted(str(folder) for folder in packages)]

try:
    from hypothesis import settings
except ImportError:  # the tests that run in a node's environment do without it
    pass
else:
    # The machines that run this are small and busy: no limit on the time of one example.
    settings.register_profile("verl", deadline=None)
    settings.load_profile("verl")
