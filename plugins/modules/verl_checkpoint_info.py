#!/usr/bin/python
# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: verl_checkpoint_info
short_description: Look at the checkpoints of a verl run on one host
version_added: 0.1.0
description:
  - Says which steps, components and ranks of a run lie on this host, and whether each of their files is whole.
  - Nothing is unpickled, and no tensor is read. A shard is judged by the directory at the end of its archive, which
    must agree with the size of the file.
  - A host sees its own part only. What the parts of all hosts mean together is said by the filter
    P(rlops.verl.combine_checkpoints#filter).
  - Files that are missing, damaged or unreadable do not fail the task. They are what it reports.
author:
  - rlops contributors (@rlops)
options:
  path:
    description: Checkpoint directory of the run, C(trainer.default_local_dir) in verl's words.
    type: path
    required: true
attributes:
  check_mode:
    description: Can run in check_mode and return changed status prediction without modifying target.
    support: full
  diff_mode:
    description: Will return details on what has changed (or possibly needs changing in check_mode), when in diff mode.
    support: none
"""

EXAMPLES = r"""
- name: Look at the checkpoints
  rlops.verl.verl_checkpoint_info:
    path: /opt/verl/runs/ppo/checkpoints
  register: checkpoints

- name: Show the newest step that is whole
  ansible.builtin.debug:
    msg: "{{ ({inventory_hostname: checkpoints.audit} | rlops.verl.combine_checkpoints).newest }}"
"""

RETURN = r"""
audit:
  description: What this host has.
  returned: success
  type: dict
  contains:
    path: {description: The directory., type: str}
    exists: {description: Whether it exists., type: bool}
    problem: {description: "Why it cannot be read, C(absent), or empty.", type: str}
    tracker:
      description: >-
        The file C(latest_checkpointed_iteration.txt): C(state) (C(absent), C(empty), C(not an integer), C(unreadable),
        C(no such step) or C(valid)), C(step) and C(text).
      type: dict
    steps:
      description: >-
        The steps in order, each with C(step), C(path), C(data) (C(absent), C(whole), or why C(data.pt) is not whole),
        C(problem), C(foreign) and C(components). A component has C(layout), C(problem), C(shards), C(fsdp_config),
        C(huggingface), C(lora) and C(foreign); a shard has C(name), C(kind), C(world_size), C(rank), C(size) in bytes,
        C(mtime_ns), C(digest) and C(problem), which is empty when it is whole. C(saved_by_rank), C(scheduler_step) and
        C(element_bytes) are what its pickle says of itself, null where it says nothing.
      type: list
      elements: dict
    misnamed:
      description: Names that look like steps but are not, such as C(global_steps_20).
      type: list
      elements: str
    foreign: {description: Names that verl does not write., type: list, elements: str}
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.rlops.verl.plugins.module_utils._checkpoint import audit_run
from ansible_collections.rlops.verl.plugins.module_utils._checkpoint_reader import DiskReader


def main() -> None:
    module = AnsibleModule(argument_spec={"path": {"type": "path", "required": True}}, supports_check_mode=True)
    module.exit_json(changed=False, audit=audit_run(DiskReader(), module.params["path"].rstrip("/") or "/"))


if __name__ == "__main__":
    main()
