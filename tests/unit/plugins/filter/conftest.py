# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

from pathlib import Path

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.loader import init_plugin_loader
from ansible.template import Templar, trust_as_template

COLLECTIONS = Path(__file__).resolve().parents[4] / ".ansible/collections"


@pytest.fixture(scope="session")
def _ansible_that_finds_the_collection():
    init_plugin_loader([str(COLLECTIONS)])


@pytest.fixture
def example(_ansible_that_finds_the_collection):
    """What Ansible makes of the arguments of the task in a filter's EXAMPLES."""

    def render(filter_file, **variables):
        loader = DataLoader()
        (task,) = loader.load(trust_as_template(filter_file.EXAMPLES))
        (arguments,) = [value for key, value in task.items() if key not in ("name", "vars")]
        return Templar(loader, {**task.get("vars", {}), **variables}).template(arguments)

    return render
