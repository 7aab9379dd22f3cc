# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Filter rlops.verl.hydra_arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.rlops.verl.plugins.module_utils._hydra import OverrideError, flatten, to_arguments

DOCUMENTATION = r"""
name: hydra_arguments
short_description: Turn nested overrides into the arguments of a Hydra program
version_added: 0.1.0
author: [rlops contributors (@rlops)]
description:
  - Turns a nested dictionary into override arguments as Hydra 1.3 reads them on its command line, sorted by path.
  - Each value comes back from Hydra with the type and the text it has in YAML. The text C("10") stays text, the number
    C(10) a number, and commas, equals signs, quotes, backslashes, spaces, line ends and non-ASCII characters are kept.
  - C(${...}) in a text stays an interpolation of OmegaConf, for example C(${trainer.project_name}) or
    C(${oc.env:HOME}). Write C(\${...}) for the characters themselves, where the program resolves its
    configuration once; verl does it twice. A C($) without a brace after it is literal.
  - The prefixes C(+) (add a key), C(++) (add or replace) and C(~) (delete a key, with the value C(null)) may stand
    before any component of a path and then hold for everything below it.
  - C(group@package) and C(group/sub) at the top level choose an option of a config group.
notes:
  - YAML reads C(1e-6) as text. Write C(1.0e-6) for the number.
  - For a shell, join the arguments with C(map('ansible.builtin.quote') | join(' ')).
options:
  _input:
    description: Overrides, nested or with dotted keys.
    type: dict
    required: true
seealso:
  - plugin: rlops.verl.merge_overrides
    plugin_type: filter
  - plugin: rlops.verl.override_checks
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Show the arguments
  ansible.builtin.debug:
    msg: "{{ overrides | rlops.verl.hydra_arguments }}"
  vars:
    overrides:
      trainer:
        nnodes: 2
        experiment_name: "10"
        logger: [console, wandb]
      actor_rollout_ref.model.override_config:
        +attn_implementation: sdpa
# msg:
#   - +actor_rollout_ref.model.override_config.attn_implementation=sdpa
#   - trainer.experiment_name='10'
#   - trainer.logger=[console,wandb]
#   - trainer.nnodes=2
"""

RETURN = r"""
_value:
  description:
    - The arguments, one item each, not quoted for a shell.
    - The filter fails for a path that is given twice or has a value and also keys below it, for keys that are not text
      or not possible in Hydra, and for values such as dates that Hydra cannot express. The message names the path.
  type: list
  elements: str
"""


def hydra_arguments(overrides: Mapping[Any, Any]) -> list[str]:
    try:
        return to_arguments(flatten(overrides))
    except OverrideError as error:
        raise AnsibleFilterError(str(error)) from None


class FilterModule:
    """Filters of this file."""

    def filters(self) -> dict[str, Any]:
        return {"hydra_arguments": hydra_arguments}
