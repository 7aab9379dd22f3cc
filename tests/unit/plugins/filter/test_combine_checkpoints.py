# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.rlops.verl.plugins.filter.combine_checkpoints import combine_checkpoints
from ansible_collections.rlops.verl.plugins.module_utils._checkpoint import audit_run
from ansible_collections.rlops.verl.plugins.module_utils._checkpoint_reader import DiskReader
from ansible_collections.rlops.verl.tests.unit import fake_checkpoint


def test_checks_are_about_the_step_that_was_asked_for(tmp_path):
    audits = {"a": audit_run(DiskReader(), str(fake_checkpoint.run(tmp_path, [2, 4])))}
    assert combine_checkpoints(audits, step=2)["chosen"] == 2
    summary = combine_checkpoints(audits, [], "6")
    assert summary["chosen"] is None
    assert [item["ok"] for item in summary["checks"]] == [True, False]


def test_a_wrong_step_is_an_error_of_the_filter():
    with pytest.raises(AnsibleFilterError, match="wanted newest or the number of a step"):
        combine_checkpoints({}, step="last")
