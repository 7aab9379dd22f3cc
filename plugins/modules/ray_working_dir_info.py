#!/usr/bin/python
# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: ray_working_dir_info
short_description: Look at a directory as the working directory of a Ray job
version_added: 0.1.0
description:
  - Says what M(rlops.verl.ray_job) would send of a directory of this host when it is the C(working_dir) of a job, as a
    digest and as checks. Changes nothing, and needs neither Ray nor a cluster.
  - Left out are C(.git), C(.venv), C(venv) and C(__pycache__), what O(excludes) names, and what files C(.gitignore) and
    C(.rayignore) in the directory and below name. Among them, git's order of precedence holds, with O(excludes) first
    and C(.rayignore) before the C(.gitignore) beside it. So V(!/data/) in O(excludes) sends a directory that
    C(.gitignore) names.
  - Links are followed, and permissions are kept. Times and owners are not sent.
  - A directory that cannot be sent does not fail the task. That is what it reports.
author:
  - rlops contributors (@rlops)
options:
  path:
    description: Absolute path of the directory.
    type: str
    required: true
  excludes:
    description: What of it is not sent, as patterns in the form of C(.gitignore), relative to O(path).
    type: list
    elements: str
    default: []
attributes:
  check_mode:
    description: Can run in check_mode and return changed status prediction without modifying target.
    support: full
  diff_mode:
    description: Will return details on what has changed (or possibly needs changing in check_mode), when in diff mode.
    support: none
seealso:
  - module: rlops.verl.ray_job
"""

EXAMPLES = r"""
- name: Look at the code of a job
  rlops.verl.ray_working_dir_info:
    path: /srv/evaluation
    excludes: ["/data/", "*.log"]
  register: code

- name: Fail when it cannot be sent
  rlops.verl.verdict:
    stage: evaluation
    checks: "{{ code.checks }}"

- name: Run it once for each content
  rlops.verl.ray_job:
    dashboard_url: http://10.0.0.1:8265
    submission_id: "evaluate-{{ code.digest }}"
    entrypoint: python evaluate.py
    runtime_env:
      working_dir: /srv/evaluation
      excludes: ["/data/", "*.log"]
    working_dir_digest: "{{ code.digest }}"
"""

RETURN = r"""
digest:
  description:
    - Digest of the names, permissions and contents of what is sent, 32 hexadecimal digits. Empty when the directory
      cannot be sent.
  returned: success
  type: str
files:
  description: What is sent, relative to O(path) and sorted. Empty directories end in a slash.
  returned: success
  type: list
  elements: str
checks:
  description:
    - The checks, each a dictionary with C(name), C(ok), C(level), C(found), C(wanted) and C(remedy), for
      M(rlops.verl.verdict).
    - C(working-dir) that there is something to send, C(working-dir-size) that Ray takes it, and as a warning
      C(working-dir-modules) that none of its modules is imported in place of one of Python's own or one that verl
      imports.
  returned: success
  type: list
  elements: dict
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.rlops.verl.plugins.module_utils._working_dir import prepare


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "str", "required": True},
            "excludes": {"type": "list", "elements": "str", "default": []},
        },
        supports_check_mode=True,
    )
    checks, package = prepare(module.params["path"], module.params["excludes"])
    module.exit_json(
        changed=False,
        digest="" if package is None else package.digest,
        files=[] if package is None else [member.path for member in package.members],
        checks=checks,
    )


if __name__ == "__main__":
    main()
