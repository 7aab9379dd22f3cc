# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from ansible_collections.rlops.verl.tests.tools import make_role_docs

ROOT = Path(__file__).resolve().parents[3]
TOOL = "tests/tools/make_role_docs.py"


@pytest.fixture
def checkout(tmp_path):
    """A checkout with one role, and a function that runs the tool in it."""
    shutil.copytree(ROOT / "roles/preflight/meta", tmp_path / "roles/preflight/meta")
    (tmp_path / "tests/tools").mkdir(parents=True)
    shutil.copy(ROOT / TOOL, tmp_path / TOOL)

    def run(*arguments: str) -> subprocess.CompletedProcess:
        command = [sys.executable, TOOL, *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    return tmp_path, run


def test_a_readme_is_written_once(checkout):
    root, run = checkout
    assert run().stdout == "roles/preflight/README.md: changed\n"
    assert (root / "roles/preflight/README.md").read_text() == (ROOT / "roles/preflight/README.md").read_text()
    assert run().stdout == ""


def test_check_names_the_readme_that_is_not_current_and_leaves_it(checkout):
    root, run = checkout
    target = root / "roles/preflight/README.md"
    missing = run("--check")
    assert (missing.returncode, target.exists()) == (1, False)
    run()
    target.write_text(target.read_text() + "more\n")
    before = target.read_text()
    stale = run("--check")
    assert stale.returncode == 1
    assert stale.stdout == "roles/preflight/README.md: not current, wanted what `make role-docs` writes\n"
    assert target.read_text() == before


def test_markup_becomes_markdown():
    text = "See C(a/b), O(role_x), V(on) and P(rlops.verl.preflight#role) (all of them)."
    assert make_role_docs.paragraph(text) == "See `a/b`, `role_x`, `on` and `rlops.verl.preflight` (all of them)."


@pytest.mark.parametrize(
    ("value", "text"),
    [("", '""'), ("30%", "30%"), (False, "false"), ([], "[]"), (["a", "b"], "[a, b]"), (0, "0"), ("0.9", "'0.9'")],
)
def test_defaults_are_shown_as_yaml(value, text):
    assert make_role_docs.shown(value) == text
    assert yaml.safe_load(text) == value


def test_parts_of_a_dictionary_show_their_share_of_its_default():
    spec = {
        "description": "Ports.",
        "type": "dict",
        "default": {"a": 1},
        "options": {
            "a": {"description": "First.", "type": "int", "required": True},
            "b": {"description": "Second.", "type": "str", "choices": ["x", "y", "z"]},
        },
    }
    assert make_role_docs.options({"ports": spec}).splitlines() == [
        "- `ports` (dict): Ports.",
        "  - `a` (int; default `1`): First.",
        "  - `b` (str; `x`, `y` or `z`): Second.",
    ]
