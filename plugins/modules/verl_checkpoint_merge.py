#!/usr/bin/python
# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: verl_checkpoint_merge
short_description: Merge the shards of a verl checkpoint to a Hugging Face model
version_added: 0.1.0
description:
  - Merges one component of one step with the merger of the installed verl, on the CPU.
  - The model is written beside its destination and renamed when it is complete and on the disk. Under its own name
    there is the complete model or nothing, whenever the merge is interrupted.
  - The model carries a manifest C(rlops_merge.json) that names the content it was made from and that of each of its
    files. A second run finds both unchanged and does nothing. Nothing that exists is ever overwritten.
  - The checkpoint is audited before, without unpickling it. The merger itself does unpickle the shards, which can
    execute code. Merge checkpoints of your own runs only, and not as root.
author:
  - rlops contributors (@rlops)
options:
  source:
    description: Directory of the component, such as C(.../global_step_N/actor) or C(.../global_step_N/critic).
    type: path
    required: true
  dest:
    description:
      - Directory of the merged model. It must not exist, be empty, or be the merge of the same source.
      - The merger's log is C(<dest>.merge.log). While a merge runs there are also C(<dest>.partial-...) and
        C(<dest>.lock).
    type: path
    required: true
  python:
    description: Python interpreter of the environment that verl is installed in.
    type: path
    required: true
  env:
    description: Environment variables for the merger. They win over those that the module sets itself.
    type: dict
    default: {}
  timeout:
    description: Seconds that the merger may take. As long is waited for another merge to the same destination.
    type: int
    default: 7200
  host:
    description: Name of the host in messages.
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
- name: Merge the actor of step 40
  rlops.verl.verl_checkpoint_merge:
    source: /opt/verl/runs/ppo/checkpoints/global_step_40/actor
    dest: /opt/verl/models/ppo/global_step_40/actor
    python: /opt/verl/env/current/bin/python
"""

RETURN = r"""
dest:
  description: Directory of the merged model.
  returned: success
  type: str
step:
  description: Number of the step.
  returned: success
  type: int
component:
  description: Name of the component.
  returned: success
  type: str
source_digest:
  description: Identifies the content that the model is made from.
  returned: success
  type: str
digest:
  description: Identifies the content of the merged model.
  returned: when the model exists
  type: str
manifest:
  description: The manifest, as it stands in C(rlops_merge.json).
  returned: when the model exists
  type: dict
  contains:
    source: {description: The source., type: str}
    step: {description: Number of the step., type: int}
    component: {description: Name of the component., type: str}
    engine: {description: What merged it., type: str}
    world_size: {description: Number of shards., type: int}
    source_digest: {description: Identifies the source's content., type: str}
    source_shards: {description: "Name, size in bytes and digest of each shard.", type: list, elements: dict}
    versions: {description: "Versions of Python, verl, torch, transformers and safetensors.", type: dict}
    created: {description: "When it was merged, UTC.", type: str}
    adjusted:
      description: What was set right in the merger's C(config.json), or empty. It declares the type of the training.
      type: str
    files: {description: "Path, size in bytes, sha256 and mtime_ns of each file.", type: list, elements: dict}
    digest: {description: Identifies the content of all files., type: str}
log_path:
  description: The merger's whole log.
  returned: when the merger ran, also when it failed
  type: str
seconds:
  description: How long the merger ran, in seconds.
  returned: when the merger ran
  type: float
removed:
  description: What interrupted merges had left and was removed (or would be, in check mode).
  returned: success
  type: list
  elements: str
"""

import os
import signal

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.rlops.verl.plugins.module_utils import _checkpoint_merge, _checkpoint_merge_run
from ansible_collections.rlops.verl.plugins.module_utils._checkpoint_merge import MergeError
from ansible_collections.rlops.verl.plugins.module_utils._wait import Timeout


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "source": {"type": "path", "required": True},
            "dest": {"type": "path", "required": True},
            "python": {"type": "path", "required": True},
            "env": {"type": "dict", "default": {}},
            "timeout": {"type": "int", "default": 7200},
            "host": {"type": "str", "default": "this host"},
        },
        supports_check_mode=True,
    )
    # Ended politely, it cleans up; ended otherwise, the next run does.
    signal.signal(signal.SIGTERM, lambda _number, _frame: module.fail_json(msg="ended by SIGTERM; nothing was left"))
    path = os.path.realpath(module.params["dest"])
    log = {"log_path": _checkpoint_merge_run.log_path_of(path)}
    merger = _checkpoint_merge_run.Merger(
        python=module.params["python"],
        environment=_checkpoint_merge.merger_environment(os.environ, module.params["env"]),
        timeout=module.params["timeout"],
    )
    try:
        source = _checkpoint_merge_run.read_source(os.path.realpath(module.params["source"]), module.params["host"])
        if module.check_mode:
            report = _checkpoint_merge_run.plan(source, path)
        else:
            report = _checkpoint_merge_run.merge(source, path, merger)
    except MergeError as error:
        module.fail_json(msg=str(error), **(log if os.path.exists(log["log_path"]) else {}))
    except Timeout as error:
        module.fail_json(msg=f"dest: another merge to {path} goes on ({error}). Wait for its end, then run again.")
    except OSError as error:
        module.fail_json(msg=f"dest: {error.filename or path}: {error.strerror}. Nothing was left at {path}.")

    result = {
        "changed": report.action == "merge" or bool(report.removed),
        "dest": path,
        "step": source.step,
        "component": source.component,
        "source_digest": source.digest,
        "removed": report.removed,
        "diff": {
            "before": _checkpoint_merge.describe(report.before),
            "after": _checkpoint_merge.describe(report.manifest or _checkpoint_merge.planned_manifest(source)),
            "before_header": path,
            "after_header": path,
        },
    }
    if report.manifest:
        result.update(manifest=report.manifest, digest=report.manifest["digest"])
    if report.seconds is not None:
        result.update(log, seconds=report.seconds)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
