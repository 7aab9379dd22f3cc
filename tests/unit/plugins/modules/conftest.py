# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import pytest

from ansible_collections.rlops.verl.tests.unit import fake_ray_api


@pytest.fixture
def api(tmp_path):
    with fake_ray_api.serving(tmp_path) as served:
        yield served
