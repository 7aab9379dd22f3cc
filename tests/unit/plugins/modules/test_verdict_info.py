# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import json

import pytest
from ansible.module_utils.testing import patch_module_args

from ansible_collections.rlops.verl.plugins.modules import verdict, verdict_info

STAGES = ["preflight", "runtime", "cluster", "training", "checkpoint", "model"]


@pytest.fixture
def info(tmp_path, capsys):
    """Run the module; returns its answer."""

    def call(**changes: object) -> dict:
        capsys.readouterr()
        with patch_module_args({"path": str(tmp_path), **changes}), pytest.raises(SystemExit):
            verdict_info.main()
        return json.loads(capsys.readouterr().out)

    return call


def test_what_the_other_module_wrote_is_read(tmp_path, info):
    item = {"name": "steps", "ok": False, "level": "error", "found": "3", "wanted": "4", "remedy": ""}
    arguments = {"stage": "training", "checks": [item], "details": {"id": "ü"}, "path": f"{tmp_path}/training.json"}
    with patch_module_args(arguments), pytest.raises(SystemExit):
        verdict.main()
    answer = info()
    assert not answer["changed"]
    found = answer["verdicts"].pop("training")
    assert answer["verdicts"] == {}
    assert [found["stage"], found["ok"], found["checks"], found["details"]] == ["training", False, [item], {"id": "ü"}]


def test_without_a_choice_all_stages_are_read(tmp_path, info):
    for stage in [*STAGES, "other"]:
        (tmp_path / f"{stage}.json").write_text(json.dumps({"stage": stage}))
    assert info()["verdicts"] == {stage: {"stage": stage} for stage in STAGES}
    assert set(info(stages=["other", "model"], _ansible_check_mode=True)["verdicts"]) == {"model", "other"}


def test_what_is_absent_is_left_out(tmp_path, info):
    assert info()["verdicts"] == {}
    assert info(path=str(tmp_path / "absent"))["verdicts"] == {}


@pytest.mark.parametrize("content", [None, b"", b'{"stage": "model", "ok"', b"ok: true", b"\xff\xfe", b"null", b"[]"])
def test_a_broken_file_is_named_with_its_stage(tmp_path, info, content):
    if content is None:
        (tmp_path / "model.json").mkdir()
    else:
        (tmp_path / "model.json").write_bytes(content)
    answer = info()
    assert answer["failed"]
    assert answer["msg"].startswith(f"{tmp_path}/model.json: found no verdict that can be read (")
    assert answer["msg"].endswith("wanted one of stage model. Remove the file and run the stage again.")
    assert "failed" not in info(stages=["training"])
