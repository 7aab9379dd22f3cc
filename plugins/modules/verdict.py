#!/usr/bin/python
# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: verdict
short_description: Record the checks of a stage and fail when one of them is an error
version_added: 0.1.0
description:
  - Writes the checks of one stage (preflight, runtime, cluster, training, checkpoint, model, or one of your own) to a
    JSON file, shows failed checks of level V(warning) as warnings, and fails with all failed checks of level V(error)
    in one message.
  - The summary, the report, CI and people read the same file.
  - The moment of the check and the measured values are refreshed in the file at every run. That alone does not count as
    a change; another conclusion, another set of results or other details do.
  - A file that cannot be written is a warning, so that it does not hide what the checks say.
author:
  - rlops contributors (@rlops)
options:
  stage:
    description: Name of the stage.
    type: str
    required: true
  checks:
    description:
      - The checks, each a dictionary with C(name), C(ok) (a boolean), C(level) (V(error) or V(warning)), C(found),
        C(wanted) and C(remedy). All of them are required, and all but C(ok) are text. V("") means that there is none.
    type: list
    elements: dict
    required: true
  details:
    description: Facts that go with the verdict, such as the number of nodes or the path of a model.
    type: dict
    default: {}
  path:
    description:
      - JSON file to write; its directory is made when absent. Without it nothing is written.
    type: path
  host:
    description: Name of the host in messages and in the file.
    type: str
    default: this host
attributes:
  check_mode:
    description: Can run in check_mode and return changed status prediction without modifying target.
    support: full
  diff_mode:
    description: Will return details on what has changed (or possibly needs changing in check_mode), when in diff mode.
    support: full
"""

EXAMPLES = r"""
- name: Record what was found
  rlops.verl.verdict:
    stage: preflight
    path: /opt/verl/state/preflight.json
    checks:
      - name: memory
        ok: true
        level: error
        found: 1024.0 GiB
        wanted: at least 64.0 GiB
        remedy: ""
"""

RETURN = r"""
verdict:
  description: The document, as written.
  returned: success
  type: dict
  contains:
    stage: {description: Name of the stage., type: str}
    host: {description: Name of the host., type: str}
    ok: {description: Whether no check of level V(error) failed., type: bool}
    checked_at: {description: "When it was checked, in UTC.", type: str, sample: "2026-01-01T00:00:00Z"}
    checks: {description: The checks., type: list, elements: dict}
    details: {description: The facts that go with them., type: dict}
path:
  description: The file it stands in.
  returned: when O(path) was given, and the checks have the right form
  type: str
"""

import json
import os
from datetime import datetime, timezone

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.rlops.verl.plugins.module_utils import _atomic_file, _verdict


def read(path: str) -> dict | None:
    """The verdict that stands in the file; None when there is none that can be read."""
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


def text(document: dict) -> str:
    return json.dumps(document, indent=2, sort_keys=True) + "\n"


def write(module: AnsibleModule, path: str, document: dict) -> None:
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        _atomic_file.write_text(path, text(document), 0o644)
    except OSError as error:
        module.warn(f"the verdict of stage {document['stage']} could not be written to {path}: {error.strerror}")


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "stage": {"type": "str", "required": True},
            "checks": {"type": "list", "elements": "dict", "required": True},
            "details": {"type": "dict", "default": {}},
            "path": {"type": "path"},
            "host": {"type": "str", "default": "this host"},
        },
        supports_check_mode=True,
    )
    stage, checks, path = module.params["stage"], module.params["checks"], module.params["path"]
    problem = _verdict.malformed(checks)
    if problem:
        module.fail_json(msg=problem)
    now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    document = _verdict.verdict(stage, module.params["host"], now, checks, module.params["details"])

    before = read(path) if path else None
    result = {
        "changed": bool(path) and _verdict.outcome(before) != _verdict.outcome(document),
        "verdict": document,
    }
    if path:
        result["path"] = path
        result["diff"] = {
            "before": "" if before is None else text(before),
            "after": text(document),
        }
        if not result["changed"]:
            result["diff"]["after"] = result["diff"]["before"]
        if not module.check_mode:
            write(module, path, document)

    for item in _verdict.failed(checks, "warning"):
        module.warn(_verdict.sentence(item))
    if not document["ok"]:
        # The message has all that matters; the whole document would bury it.
        result.pop("verdict")
        module.fail_json(msg=_verdict.failure_message(stage, module.params["host"], checks), **result)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
