# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.rlops.verl.plugins.module_utils import _python
from ansible_collections.rlops.verl.plugins.module_utils._python import Interpreter, candidates


def program(path, mode: int = 0o755) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(mode)
    return str(path)


# --- which are there -------------------------------------------------------------------------------------------------


def test_the_search_path_comes_before_the_usual_places(tmp_path):
    there, place = program(tmp_path / "bin/python3.11"), program(tmp_path / "x1/bin/python3.11")
    assert candidates(None, str(tmp_path / "bin"), [f"{tmp_path}/x*/bin"]) == [there, place]


def test_commands_come_in_their_order_and_the_last_of_equal_places_first(tmp_path):
    names = ["x1/python3", "x1/python3.12", "x2/python3.12", "x2/python3.10", "x2/python3.9", "x2/python"]
    paths = {name: program(tmp_path / name) for name in names}
    found = candidates(None, "", [f"{tmp_path}/x*"])
    assert found == [paths[name] for name in ("x2/python3.12", "x1/python3.12", "x2/python3.10", "x1/python3")]


def test_a_file_with_several_names_counts_once(tmp_path):
    real = program(tmp_path / "bin/python3.11")
    (tmp_path / "bin/python3").symlink_to("python3.11")
    (tmp_path / "sbin").symlink_to("bin")
    assert candidates(None, f"{tmp_path}/bin:{tmp_path}/sbin", []) == [real]


def test_what_cannot_be_run_is_left_out(tmp_path):
    program(tmp_path / "python3.11", 0o644)
    (tmp_path / "python3.12").mkdir()
    (tmp_path / "python3").symlink_to("gone")
    assert candidates(None, f"{tmp_path}:{tmp_path}/absent", []) == []


def test_places_may_lie_in_the_home_directory(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    pyenv = program(tmp_path / ".pyenv/versions/3.11.7/bin/python3.11")
    assert pyenv in candidates(None, "")


def test_a_named_interpreter_is_the_only_candidate(tmp_path):
    mine, other = program(tmp_path / "a/mypython"), program(tmp_path / "a/python3.11")
    assert candidates("mypython", str(tmp_path / "a")) == [mine]
    assert candidates(other, "") == [other]
    assert candidates("mypython", "/absent") == []
    assert candidates(str(tmp_path / "absent"), str(tmp_path / "a")) == []


# --- what they say ---------------------------------------------------------------------------------------------------


def probed(*before: str) -> Interpreter | None:
    command = [sys.executable, "-I", "-c", "\n".join([*before, _python.PROBE])]
    answer = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return _python.parse_probe(answer.stdout)


def test_this_interpreter_answers():
    assert probed() == Interpreter(sys.executable, platform.python_version(), True)


@pytest.mark.parametrize("module", ["venv", "ensurepip"])
def test_without_one_of_the_modules_it_is_incomplete(module):
    assert probed("import sys", f"sys.modules[{module!r}] = None") == Interpreter(
        sys.executable, platform.python_version(), False
    )


@pytest.mark.parametrize("output", ["", "pyenv: python3.11: command not found", "[]", "[1, 2]", "3", "null", '["a"'])
def test_any_other_output_is_no_answer(output):
    assert _python.parse_probe(output) is None


def test_an_interpreter_as_a_dictionary():
    found = _python.parse_probe(json.dumps(["/usr/bin/python3", "3.11.7", False]))
    assert found.as_dict() == {"path": "/usr/bin/python3", "version": "3.11.7", "complete": False, "minor": "3.11"}


# --- which fits ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "key"),
    [
        ("3.11.7", (3, 11, 7)),
        ("3.13.0rc1", (3, 13, 0)),
        ("3.11.2+", (3, 11, 2)),
        ("2.8.0+cu128", (2, 8, 0)),
        ("x", (0,)),
    ],
)
def test_versions_as_tuples(version, key):
    assert _python.version_key(version) == key


NUMBERS = st.lists(st.integers(0, 20), min_size=3, max_size=3)
SUFFIX = st.sampled_from(["", "rc1", "+", "a0", "+local"])


@given(NUMBERS, NUMBERS, SUFFIX)
def test_versions_compare_as_numbers(one, other, suffix):
    left, right = ".".join(map(str, one)) + suffix, ".".join(map(str, other)) + suffix
    assert (_python.version_key(left) < _python.version_key(right)) is (one < other)


@pytest.mark.parametrize(
    ("version", "fits"),
    [
        ("3.9.18", False),
        ("3.10.0", True),
        ("3.12.11", True),
        ("3.13.0", False),
        ("3.13.0rc1", False),
        ("2.11.0", False),
    ],
)
def test_a_range_ends_below_its_upper_bound(version, fits):
    assert _python.in_range(version, "3.10", "3.13") is fits


A310, A311, A312, A313 = (Interpreter(f"/a/{minor}", f"3.{minor}.1", True) for minor in (10, 11, 12, 13))
BARE311, OTHER311 = Interpreter("/bare", "3.11.9", False), Interpreter("/other", "3.11.9", True)


@pytest.mark.parametrize(
    ("found", "chosen"),
    [
        ([], None),
        ([A313], None),
        ([A310, A312, A311], A311),
        ([A310, A312], A312),
        ([A313, A310], A310),
        ([BARE311, A312], A312),  # complete before preferred
        ([BARE311], BARE311),
        ([OTHER311, A311], OTHER311),
        ([A311, OTHER311], A311),
    ],
)
def test_the_choice(found, chosen):
    assert _python.choose(iter(found), "3.10", "3.13", ["3.11", "3.12"]) == chosen


def test_the_interpreter_that_runs_this_can_be_found():
    path = candidates(os.path.basename(sys.executable), os.path.dirname(sys.executable))
    assert path == [sys.executable]
