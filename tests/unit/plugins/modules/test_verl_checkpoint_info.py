# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import json

import pytest
from ansible.module_utils.testing import patch_module_args

from ansible_collections.rlops.verl.plugins.filter.combine_checkpoints import FilterModule
from ansible_collections.rlops.verl.plugins.modules import verl_checkpoint_info
from ansible_collections.rlops.verl.tests.unit import fake_checkpoint

combine_checkpoints = FilterModule().filters()["combine_checkpoints"]


def info(capsys, path) -> dict:
    with patch_module_args({"path": str(path)}), pytest.raises(SystemExit):
        verl_checkpoint_info.main()
    return json.loads(capsys.readouterr().out)


def test_the_audit_goes_through_the_filter(tmp_path, capsys):
    answer = info(capsys, f"{fake_checkpoint.run(tmp_path, [2, 4])}/")
    assert not answer["changed"]
    summary = combine_checkpoints({"node-a": answer["audit"]}, ["actor"])
    assert summary["chosen"] == 4
    assert all(item["ok"] for item in summary["checks"])


def test_an_absent_directory_is_an_answer(tmp_path, capsys):
    audit = info(capsys, tmp_path / "absent")["audit"]
    assert not audit["exists"]
    assert not combine_checkpoints({"node-a": audit})["checks"][0]["ok"]
