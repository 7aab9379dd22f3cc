# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The module as Ansible runs it, with a small program in the place of the package."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from ansible.module_utils.testing import patch_module_args

from ansible_collections.rlops.verl.plugins.module_utils._verdict import verdict
from ansible_collections.rlops.verl.plugins.modules import verl_model_check

PROGRAM = """
import json, os, sys
calls = os.environ["CALLS"]
with open(calls, "a") as file:
    file.write(" ".join(sys.argv[1:]) + "\\n")
print("a warning", file=sys.stderr)
if os.environ["ANSWER"] == "none":
    raise RuntimeError("cannot look")
ok = os.environ["ANSWER"] == "good"
check = {"name": "tensors", "ok": ok, "level": "error", "found": "x", "wanted": "y", "remedy": ""}
print(json.dumps({"checks": [check], "details": {"model_path": sys.argv[-1]}}))
"""


class Place:
    def __init__(self, root: Path):
        self.root = root
        self.model, self.base, self.lib = root / "model", root / "base", root / "lib"
        self.verdict, self.calls = root / "state" / "model.json", root / "calls"
        for directory in (self.model, self.base, self.lib / "rlops_model_check"):
            directory.mkdir(parents=True)
        (self.model / "model.safetensors").write_bytes(b"weights")
        (self.model / "rlops_merge.json").write_text('{"step": 4, "component": "actor", "digest": "d", "files": []}')
        (self.lib / "rlops_model_check" / "__init__.py").touch()
        (self.lib / "rlops_model_check" / "__main__.py").write_text(PROGRAM)

    def arguments(self, answer: str = "good", **changes: object) -> dict:
        return {
            "model": str(self.model), "python": sys.executable, "package_parent": str(self.lib), "base": str(self.base),
            "verdict": str(self.verdict), "env": {"CALLS": str(self.calls), "ANSWER": answer}, **changes,
        }  # fmt: skip

    def record(self, answer: dict) -> None:
        """What the module verdict does with the answer."""
        self.verdict.parent.mkdir(exist_ok=True)
        document = verdict("model", "here", "2026-12-01T00:00:00Z", answer["checks"], answer["details"])
        self.verdict.write_text(json.dumps(document))

    @property
    def runs(self) -> int:
        return len(self.calls.read_text().splitlines()) if self.calls.exists() else 0


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


@pytest.fixture
def run(place, capsys):
    def call(answer: str = "good", **changes: object) -> dict:
        with patch_module_args(place.arguments(answer, **changes)), pytest.raises(SystemExit):
            verl_model_check.main()
        return json.loads(capsys.readouterr().out)

    return call


def test_a_good_answer_is_reused_while_nothing_changes(place, run):
    first = run()
    assert (first["changed"], first["known"], first["reused"]) == (False, True, False)
    assert first["details"]["merge"] == {"source": None, "step": 4, "component": "actor", "engine": None, "digest": "d"}
    assert "a warning" in (place.root / "state" / "model.log").read_text()
    place.record(first)
    again = run()
    assert again["reused"]
    assert (again["checks"], again["details"]) == (first["checks"], first["details"])
    assert place.runs == 1


def change_model(place):
    (place.model / "more.json").touch()


def change_base(place):
    (place.base / "model.safetensors").touch()


def change_package(place):
    with open(place.lib / "rlops_model_check" / "__init__.py", "a") as file:
        file.write("# other\n")


@pytest.mark.parametrize("change", [change_model, change_base, change_package])
def test_whatever_the_answer_depends_on_makes_it_look_anew(place, run, change):
    place.record(run())
    change(place)
    assert not run()["reused"]
    assert place.runs == 2


def test_another_prompt_makes_it_look_anew(place, run):
    place.record(run())
    assert not run(prompt="Why?")["reused"]
    assert place.calls.read_text().splitlines()[1].endswith("--prompt Why?")


def test_an_environment_behind_a_link_that_was_switched_makes_it_look_anew(place, run):
    for name in ("one", "two"):
        (place.root / name).mkdir()
        (place.root / name / "python").symlink_to(sys.executable)
    current = place.root / "current"
    current.symlink_to("one")
    place.record(run(python=str(current / "python")))
    assert run(python=str(current / "python"))["reused"]
    current.unlink()
    current.symlink_to("two")
    assert not run(python=str(current / "python"))["reused"]


def test_a_bad_answer_is_data_and_is_never_reused(place, run):
    bad = run("bad")
    assert "failed" not in bad
    assert not bad["checks"][0]["ok"]
    place.record(bad)
    assert not run("good")["reused"]


def test_a_check_that_could_not_be_done_fails_with_the_end_of_its_output(place, run):
    answer = run("none")
    assert answer["failed"]
    assert "RuntimeError: cannot look" in answer["msg"]
    assert answer["log_path"] in answer["msg"]


def test_a_model_or_a_python_that_is_not_there(place, run):
    assert "found no directory /nowhere/model" in run(model="/nowhere/model")["msg"]
    assert "/nowhere/python: No such file" in run(python="/nowhere/python")["msg"]


def test_check_mode_runs_nothing(place, run):
    assert run(_ansible_check_mode=True)["known"] is False
    assert run(_ansible_check_mode=True, model="/nowhere/model")["known"] is False
    assert place.runs == 0
    place.record(run())
    assert run(_ansible_check_mode=True)["reused"]
