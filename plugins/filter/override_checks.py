# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Filter rlops.verl.override_checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.rlops.verl.plugins.module_utils._config_keys import KeyTableError
from ansible_collections.rlops.verl.plugins.module_utils._hydra import OverrideError, flatten
from ansible_collections.rlops.verl.plugins.module_utils._training_checks import check_overrides
from ansible_collections.rlops.verl.plugins.module_utils._verdict import check

DOCUMENTATION = r"""
name: override_checks
short_description: Check overrides of a verl training run before it starts
version_added: 0.1.0
author: [rlops contributors (@rlops)]
description:
  - Checks overrides against the configuration of a verl release, on the controller, without verl and without Hydra.
  - Finds unknown keys and names the ones that may be meant, keys that need C(+) or must not have it, keys that verl
    accepts and ignores, values of another type, values that verl does not know, and interpolations that cannot be
    resolved.
  - Finds values that do not fit each other or the cluster, such as batch sizes that do not divide, checkpoints that are
    never saved, and more workers than the cluster has slots.
positional: key_table, slots, variable, run_id
options:
  _input:
    description: Overrides, nested or with dotted keys. See P(rlops.verl.hydra_arguments#filter).
    type: dict
    required: true
  key_table:
    description: The key table of the release, from C(files/config_keys) of the role P(rlops.verl.ppo_training#role).
    type: dict
    required: true
  slots:
    description:
      - Worker slots (GPUs) of each node of the cluster, one number per node.
      - Without it, the overrides are not compared with the cluster.
    type: list
    elements: int
  variable:
    description: Name of the variable that holds the overrides, for the remedies.
    type: str
    default: ppo_training_overrides
  run_id:
    description:
      - Id of the run, which its directory of checkpoints has to be named by, so that no other run shares it. Without
        it, that is C(trainer.experiment_name).
    type: str
    default: ""
seealso:
  - plugin: rlops.verl.hydra_arguments
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Refuse overrides that verl would refuse
  ansible.builtin.assert:
    that: checks | rejectattr('ok') | selectattr('level', 'equalto', 'error') | length == 0
    fail_msg: "{{ checks | rejectattr('ok') | list }}"
  vars:
    table: "{{ lookup('ansible.builtin.file', 'config_keys/0.9.1.json') | ansible.builtin.from_json }}"
    checks: "{{ ppo_training_overrides | rlops.verl.override_checks(table, slots=[8, 8]) }}"
"""

RETURN = r"""
_value:
  description:
    - Checks, at least one of each name, and one for each problem found.
    - Problems are never raised. The filter fails only if O(key_table) is something else.
  type: list
  elements: dict
  contains:
    name:
      description: What was checked, for example C(override-keys) or C(batch-sizes). The names are stable.
      type: str
    ok:
      description: Whether there is nothing to object to.
      type: bool
    level:
      description: V(error) if the run would fail or do something else than declared, V(warning) for advice.
      type: str
    found:
      description: What was found, with the path.
      type: str
    wanted:
      description: What was wanted.
      type: str
    remedy:
      description: What to change, with the name of the variable.
      type: str
"""


def override_checks(
    overrides: Mapping[Any, Any],
    key_table: Mapping[str, Any],
    slots: list[int] | None = None,
    variable: str = "ppo_training_overrides",
    run_id: str = "",
) -> list[dict[str, Any]]:
    try:
        flat = flatten(overrides)
    except OverrideError as error:
        remedy = f"{error.remedy} It is in {variable}."
        return [check("override-form", False, f"{error.path}: {error.found}", error.wanted, remedy)]
    try:
        checks = check_overrides(flat, key_table, slots, variable, run_id)
    except KeyTableError as error:
        raise AnsibleFilterError(str(error)) from None
    return [check("override-form", True, f"{len(flat)} overrides"), *checks]


class FilterModule:
    """Filters of this file."""

    def filters(self) -> dict[str, Any]:
        return {"override_checks": override_checks}
