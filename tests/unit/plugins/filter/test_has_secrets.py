# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import pytest

from ansible_collections.rlops.verl.plugins.filter.has_secrets import has_secrets


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("", False),
        ("A=1\nTOKENIZERS_PARALLELISM=true\n", False),
        ("A=HF_TOKEN=1\n", False),
        ("# HF_TOKEN=x\n", False),
        ("A=1\nHF_TOKEN=x\n", True),
        ('  WANDB_API_KEY="a b"', True),
    ],
)
def test_names_tell(text, secret):
    assert has_secrets(text) is secret
