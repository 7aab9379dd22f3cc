# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import pytest
import yaml
from jinja2 import StrictUndefined
from jinja2.nativetypes import NativeEnvironment


@pytest.fixture
def example():
    """The arguments of the task in a filter's EXAMPLES, rendered as Ansible does it."""

    def rendered(file, **variables):
        (task,) = yaml.safe_load(file.EXAMPLES)
        variables = {**task.pop("vars", {}), **variables}
        ((_module, arguments),) = [item for item in task.items() if item[0] != "name"]
        environment = NativeEnvironment(undefined=StrictUndefined)
        environment.filters = {f"rlops.verl.{name}": value for name, value in file.FilterModule().filters().items()}
        return {name: environment.from_string(value).render(variables) for name, value in arguments.items()}

    return rendered
