# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Filter rlops.verl.merge_overrides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.rlops.verl.plugins.module_utils._hydra import OverrideError, merge, to_mapping

DOCUMENTATION = r"""
name: merge_overrides
short_description: Merge layers of Hydra overrides by path
version_added: 0.1.0
author: [rlops contributors (@rlops)]
description:
  - Merges dictionaries of overrides as P(rlops.verl.hydra_arguments#filter) takes them. Nested and dotted keys are the
    same, and the prefixes C(+), C(++) and C(~) do not tell two paths apart, which P(ansible.builtin.combine#filter)
    cannot know.
  - A later override takes the place of an earlier one at the same path, whatever the prefixes. The prefix that is
    written last is the one Hydra gets.
  - It also takes the place of what earlier layers put below its path, or above it as a value. Dictionaries merge key by
    key, lists are replaced whole, and an empty dictionary drops what earlier layers set below it.
  - C(~path) drops what earlier layers put at the path or below it. It stays as a deletion for Hydra, unless an earlier
    layer had added the path itself, or a parent of it, with C(+).
options:
  _input:
    description: The first layer.
    type: dict
    required: true
  _layers:
    description: More layers, each as an argument of its own. The last one wins.
    type: list
    elements: dict
seealso:
  - plugin: rlops.verl.hydra_arguments
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Overrides of the cluster, then those of the user
  ansible.builtin.debug:
    msg: "{{ cluster | rlops.verl.merge_overrides(user) }}"
  vars:
    cluster:
      trainer: {nnodes: 2, n_gpus_per_node: 8}
      actor_rollout_ref.model.override_config: {+attn_implementation: sdpa}
    user:
      trainer.nnodes: 1
      actor_rollout_ref.model.override_config: {~attn_implementation: null}
# msg:
#   trainer.n_gpus_per_node: 8
#   trainer.nnodes: 1
"""

RETURN = r"""
_value:
  description:
    - The merged overrides with dotted keys, sorted by path, as P(rlops.verl.hydra_arguments#filter) takes them.
    - The filter fails for a layer that has no meaning in itself. The message names the path.
  type: dict
"""


def merge_overrides(overrides: Mapping[Any, Any], *layers: Mapping[Any, Any]) -> dict[str, Any]:
    try:
        return to_mapping(merge(overrides, *layers))
    except OverrideError as error:
        raise AnsibleFilterError(str(error)) from None


class FilterModule:
    """Filters of this file."""

    def filters(self) -> dict[str, Any]:
        return {"merge_overrides": merge_overrides}
