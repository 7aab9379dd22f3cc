# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Command line. Prints one JSON object: ``changed``, ``damage`` (why it was built) and the paths of the parts."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from . import spec, store


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m rlops_tiny_workload", description=__doc__)
    parser.add_argument("--root", required=True, type=Path, help="folder of the workload; made if absent")
    parser.add_argument("--check", action="store_true", help="only say what would be done")
    options = parser.parse_args(arguments)
    root = options.root.absolute()
    try:
        damage = store.damage(root)
        if damage and not options.check:
            store.replace(root)
    except (store.ForeignFolderError, OSError) as error:
        print(f"rlops_tiny_workload: {error}", file=sys.stderr)
        return 1
    paths = {name: str(root / name_in_root) for name, name_in_root in _PARTS.items()}
    print(json.dumps({"changed": bool(damage), "damage": damage, "root": str(root), **paths}))
    return 0


_PARTS = {"model": spec.MODEL, "train": spec.TRAIN, "test": spec.TEST, "reward": spec.REWARD}

if __name__ == "__main__":
    sys.exit(main())
