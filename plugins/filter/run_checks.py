# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: run_checks
short_description: Judge a training run that has ended
version_added: 0.1.0
author: rlops contributors (@rlops)
description:
  - Checks the record of a run that M(rlops.verl.verl_run_record) made. The job has to have succeeded, and its last step
    to be the one that was declared.
positional: log_path, total_steps
options:
  _input:
    description: The record, RV(rlops.verl.verl_run_record#module:run).
    type: dict
    required: true
  log_path:
    description: Where the full log is kept, for the remedies.
    type: str
    required: true
  total_steps:
    description: Number of steps the run was to make. Without it, or with V(null), steps are not compared.
    type: int
"""

EXAMPLES = r"""
- name: Judge the run
  rlops.verl.verdict:
    stage: training
    checks: "{{ record.run | rlops.verl.run_checks(record.log_path) }}"
"""

RETURN = r"""
_value:
  description:
    - The checks, each a dictionary with C(name), C(ok), C(level), C(found), C(wanted) and C(remedy), for
      M(rlops.verl.verdict).
  type: list
  elements: dict
"""

from ansible_collections.rlops.verl.plugins.module_utils._training import run_checks as judge


def run_checks(run: dict, log_path: str, total_steps: int | None = None) -> list[dict]:
    return judge(run, log_path, total_steps)


class FilterModule:
    def filters(self) -> dict:
        return {"run_checks": run_checks}
