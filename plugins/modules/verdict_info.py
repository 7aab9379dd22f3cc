#!/usr/bin/python
# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: verdict_info
short_description: Read the verdicts of the stages
version_added: 0.1.0
author: rlops contributors (@rlops)
description:
  - Reads what M(rlops.verl.verdict) has written on this host.
options:
  path:
    description: Directory of the verdicts.
    type: path
    required: true
  stages:
    description: Stages to read. One that has no verdict is left out of the answer.
    type: list
    elements: str
    default: [preflight, runtime, cluster, training, checkpoint, model]
attributes:
  check_mode:
    description: Changes nothing.
    support: full
  diff_mode:
    description: Changes nothing.
    support: none
seealso:
  - module: rlops.verl.verdict
"""

EXAMPLES = r"""
- name: Look how the training went
  rlops.verl.verdict_info:
    path: /opt/verl/state
    stages: [training]
  register: found

- name: Say where its checkpoints are
  ansible.builtin.debug:
    msg: "{{ found.verdicts.training.details.checkpoint_dir }}"
"""

RETURN = r"""
verdicts:
  description: Name of the stage to its verdict, with C(ok), C(checked_at), C(checks) and C(details).
  returned: always
  type: dict
"""

import json
import os

from ansible.module_utils.basic import AnsibleModule


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "stages": {
                "type": "list",
                "elements": "str",
                "default": ["preflight", "runtime", "cluster", "training", "checkpoint", "model"],
            },
        },
        supports_check_mode=True,
    )
    verdicts = {}
    for stage in module.params["stages"]:
        path = os.path.join(module.params["path"], f"{stage}.json")
        try:
            with open(path, encoding="utf-8") as file:
                verdicts[stage] = json.load(file)
            if not isinstance(verdicts[stage], dict):
                raise ValueError("not a dictionary")
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            module.fail_json(
                msg=f"{path}: found no verdict that can be read ({error}), wanted one of stage {stage}. "
                "Remove the file and run the stage again."
            )
    module.exit_json(changed=False, verdicts=verdicts)


if __name__ == "__main__":
    main()
