# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import json

import pytest
from ansible.module_utils.testing import patch_module_args

from ansible_collections.rlops.verl.plugins.module_utils._verdict import malformed
from ansible_collections.rlops.verl.plugins.module_utils._working_dir import prepare
from ansible_collections.rlops.verl.plugins.modules import ray_working_dir_info


@pytest.fixture
def run(capsys):
    def call(path: object, **arguments: object) -> dict:
        with patch_module_args({"path": str(path), **arguments}), pytest.raises(SystemExit):
            ray_working_dir_info.main()
        answer = json.loads(capsys.readouterr().out)
        assert "failed" not in answer and not answer["changed"]
        assert malformed(answer["checks"]) is None
        return answer

    return call


def test_it_says_what_would_be_sent(tmp_path, run):
    (tmp_path / "train.py").write_text("print()")
    (tmp_path / "train.log").write_text("long")
    (tmp_path / "empty").mkdir()
    assert run(tmp_path)["files"] == ["empty/", "train.log", "train.py"]
    answer = run(tmp_path, excludes=["*.log"])
    assert answer["files"] == ["empty/", "train.py"]
    assert answer["digest"] == prepare(str(tmp_path), ["*.log"])[1].digest
    assert [(check["name"], check["ok"]) for check in answer["checks"]] == [
        ("working-dir", True),
        ("working-dir-size", True),
        ("working-dir-modules", True),
    ]


def test_a_module_in_the_place_of_another_is_a_warning(tmp_path, run):
    (tmp_path / "random.py").touch()
    answer = run(tmp_path)
    assert [(check["name"], check["level"]) for check in answer["checks"] if not check["ok"]] == [
        ("working-dir-modules", "warning")
    ]
    assert answer["digest"]


@pytest.mark.parametrize("path", ["absent", "file"])
def test_a_directory_that_cannot_be_sent_is_an_answer(tmp_path, run, path):
    (tmp_path / "file").touch()
    answer = run(tmp_path / path)
    assert (answer["digest"], answer["files"]) == ("", [])
    assert [(check["name"], check["ok"], check["level"]) for check in answer["checks"]] == [
        ("working-dir", False, "error")
    ]
