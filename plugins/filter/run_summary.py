# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: run_summary
short_description: The verdicts of all stages as one readable block
version_added: 0.1.0
author: rlops contributors (@rlops)
description:
  - Says in a few lines how large the cluster is, how the training went, where checkpoint, model and log are, how to
    load the model, and what is wrong.
positional: state_dir
options:
  _input:
    description: Verdicts of M(rlops.verl.verdict), by the name of their stage. Stages without one are left out.
    type: dict
    required: true
  state_dir:
    description: Directory that the verdicts come from.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Say where everything is
  ansible.builtin.debug:
    msg: "{{ verdicts | rlops.verl.run_summary('/opt/verl/state') }}"
"""

RETURN = r"""
_value:
  description: Text of several lines.
  type: str
"""

from ansible_collections.rlops.verl.plugins.module_utils._summary import summary


def run_summary(verdicts: dict, state_dir: str) -> str:
    return summary(verdicts, state_dir)


class FilterModule:
    def filters(self) -> dict:
        return {"run_summary": run_summary}
