# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: input_checks
short_description: Judge the models and data files of a training
version_added: 0.1.0
author: rlops contributors (@rlops)
description:
  - Checks that models and data files are there, can be read and are of the right kind.
  - What is not a path of this host, such as the name of a model on a hub, is taken as it is.
positional: found, made_later
options:
  _input:
    description:
      - Name of the variable to the path or paths that it holds. One with C(model) in its name holds directories, any
        other files. The value V(null) is no path.
    type: dict
    required: true
  found:
    description: Path to the C(stat) that M(ansible.builtin.stat) returned for it.
    type: dict
    required: true
  made_later:
    description: Paths that are made by the run itself, and need not be there.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Judge the inputs
  rlops.verl.verdict:
    stage: inputs
    checks: "{{ {'ppo_training_model_path': '/models/a'} | rlops.verl.input_checks({'/models/a': found.stat}) }}"
"""

RETURN = r"""
_value:
  description:
    - The checks, each a dictionary with C(name), C(ok), C(level), C(found), C(wanted) and C(remedy), for
      M(rlops.verl.verdict).
    - At least one for each variable, named after it.
  type: list
  elements: dict
"""

from ansible.errors import AnsibleFilterError

from ansible_collections.rlops.verl.plugins.module_utils._training import input_checks as judge


def input_checks(inputs: dict, found: dict, made_later: list[str] | None = None) -> list[dict]:
    listed = {variable: _paths(variable, value) for variable, value in inputs.items()}
    return judge(listed, found, made_later or [])


def _paths(variable: str, value: object) -> list[str]:
    paths = value if isinstance(value, (list, tuple)) else [value]
    wrong = [path for path in paths if not isinstance(path, (str, type(None)))]
    if wrong:
        raise AnsibleFilterError(
            f"{variable}: found {wrong[0]!r}, wanted a path or a list of paths. Change {variable}."
        )
    return [path for path in paths if path]


class FilterModule:
    def filters(self) -> dict:
        return {"input_checks": input_checks}
