# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import pytest

from ansible_collections.rlops.verl.plugins.filter import choose_python

PYTHONS = [
    {"path": "/usr/bin/python3.12", "version": "3.12.4", "minor": "3.12", "complete": True},
    {"path": "/opt/python/bin/python3.11", "version": "3.11.7", "minor": "3.11", "complete": True},
    {"path": "/usr/bin/python3.13", "version": "3.13.0", "minor": "3.13", "complete": True},
]


def test_the_interpreter_comes_as_it_was_found():
    python = {"min": "3.10", "below": "3.13", "prefer": ["3.11"]}
    assert choose_python.choose_python({"pythons": PYTHONS}, python) == PYTHONS[1]


@pytest.mark.parametrize("found", [[], PYTHONS])
def test_without_a_fitting_interpreter_nothing_is_chosen(found):
    python = {"min": "3.8", "below": "3.10", "prefer": ["3.9"]}
    assert choose_python.choose_python({"pythons": found}, python) == {}


def test_the_example(example):
    assert example(choose_python, node={"pythons": PYTHONS}) == {"msg": "/opt/python/bin/python3.11"}
