# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Turn every ``NAME.in`` of the repository into its lock ``NAME.txt``: ``make lock``.

The versions that a lock already has are kept as long as they fit; ``--upgrade`` looks for newer ones.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# torch comes apart, as a build for the accelerator (`2.13.0+cpu`); the one on the public index would bring CUDA along.
APART = re.compile(r"(torch|triton|cuda-.*|nvidia-.*)$")


@dataclass(frozen=True)
class Family:
    """The locks of one folder: oldest Python they are for, hashes or not, and the words at their top."""

    folder: str
    python: str
    hashes: bool
    about: str


FAMILIES = (
    Family(
        "roles/verl_runtime/files/locks",
        "3.10",
        True,
        "Exact versions and hashes for Linux on x86_64 and aarch64, Python 3.10 to 3.12.\n"
        "# torch and its CUDA companions are not here: they come apart, as a build for the accelerator.",
    ),
    Family("requirements", "3.11", False, "Exact versions for Python 3.11 and newer."),
)


@dataclass(frozen=True)
class Entry:
    """One package of a lock: its name and its lines (pin, hashes, comment)."""

    name: str
    text: str


def entries(lock: str) -> Iterator[Entry]:
    for block in re.split(r"(?m)^(?=[^\s#])", lock):
        pin = re.match(r"([A-Za-z0-9][A-Za-z0-9._-]*)==", block)
        if pin:
            yield Entry(pin.group(1), block)


def locked(lock: str, source: str, about: str) -> str:
    """The committed form of what the resolver wrote: our words at the top, nothing that comes apart."""
    kept = (entry.text for entry in entries(lock) if not APART.match(entry.name))
    return f"# {about}\n# Made from {source} by `make lock`.\n" + "".join(kept)


def command(uv: str, family: Family, source: Path, target: Path, options: Iterable[str]) -> list[str]:
    return [
        uv, "pip", "compile", "--quiet", "--universal", "--no-header", "--annotation-style=line",
        f"--python-version={family.python}", *(["--generate-hashes"] if family.hashes else []),
        *options, "--output-file", str(target), str(source),
    ]  # fmt: skip


def compile_lock(uv: str, family: Family, source: Path, options: Iterable[str]) -> bool:
    """Make the lock of one source; True when it changed."""
    lock = source.with_suffix(".txt")
    before = lock.read_text() if lock.exists() else ""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / lock.name
        target.write_text(before)  # the resolver prefers the versions it finds there
        subprocess.run(command(uv, family, source.relative_to(ROOT), target, options), check=True, cwd=ROOT)
        after = locked(target.read_text(), source.name, family.about)
    lock.write_text(after)
    return after != before


def main() -> int:
    parser = argparse.ArgumentParser(description="Make the locks of the repository anew.")
    parser.add_argument("--uv", default="uv", help="the uv program to resolve with")
    parser.add_argument("--upgrade", action="store_true", help="take the newest versions that fit")
    parser.add_argument("names", nargs="*", help="only these locks, such as 0.9.1-cpu")
    arguments = parser.parse_args()
    for family in FAMILIES:
        for source in sorted((ROOT / family.folder).glob("*.in")):
            if arguments.names and source.stem not in arguments.names:
                continue
            changed = compile_lock(arguments.uv, family, source, ["--upgrade"] if arguments.upgrade else [])
            lock = source.relative_to(ROOT).with_suffix(".txt")
            print(f"{lock}: {'changed' if changed else 'unchanged'}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
