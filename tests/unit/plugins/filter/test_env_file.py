# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.rlops.verl.plugins.filter import env_file


def test_variables_are_sorted_lines():
    assert env_file.env_file({"B": "x y", "A": "1"}) == 'A=1\nB="x y"\n'


def test_numbers_and_switches_become_text():
    assert env_file.env_file({"A": 1, "B": 1.5, "C": True, "D": False}) == "A=1\nB=1.5\nC=1\nD=0\n"


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"A-B": "1"}, "environment: found the name 'A-B', wanted letters, digits and underscores"),
        ({"B": "x", 1: "x"}, "environment: found the name 1, wanted letters, digits and underscores"),
        ({"A": None}, "environment: found a value of the type NoneType in A, wanted text"),
        ({"A": ["x"]}, "environment: found a value of the type list in A, wanted text"),
        ({"A": "1\n2"}, "environment: found a line break in A, wanted one line"),
    ],
)
def test_what_the_file_cannot_hold_is_an_error_of_the_filter(variables, message):
    with pytest.raises(AnsibleFilterError) as caught:
        env_file.env_file(variables)
    assert caught.value.message == message


def test_the_example(example):
    assert example(env_file) == {"msg": "NUMEXPR_MAX_THREADS=96\n"}
