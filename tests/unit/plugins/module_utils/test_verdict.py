# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.rlops.verl.plugins.module_utils import _verdict
from ansible_collections.rlops.verl.plugins.module_utils._verdict import check

GOOD = check("memory", True, "64 GiB", "8 GiB")
WARNING = check("disk", False, "5 GiB", "10 GiB", "Free some.", level="warning")
ERROR = check("python", False, "3.9", "3.10", "Install another.")
CHECKS = [GOOD, WARNING, ERROR]


def test_found_and_wanted_become_text():
    assert check("n", 1, 3, [4], "Do.", "warning") == {
        "name": "n", "ok": True, "level": "warning", "found": "3", "wanted": "[4]", "remedy": "Do."
    }  # fmt: skip


def test_a_check_is_an_error_unless_it_says_otherwise():
    assert check("n", False)["level"] == "error"


def test_an_unknown_level_is_refused():
    with pytest.raises(ValueError, match="level of check n: found 'fatal', wanted one of error, warning"):
        check("n", False, level="fatal")


ANYTHING = st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.integers())


@given(st.lists(st.builds(check, st.text(), ANYTHING, ANYTHING, ANYTHING, st.text(), st.sampled_from(_verdict.LEVELS))))
def test_what_check_builds_is_well_formed(checks):
    assert _verdict.malformed(checks) is None


@pytest.mark.parametrize(
    ("checks", "problem"),
    [
        (None, "checks: found NoneType, wanted a list of checks"),
        ({"name": "n"}, "checks: found dict, wanted a list of checks"),
        (["n"], "checks[0]: found str, wanted a dictionary"),
        ([GOOD, {**GOOD, "ok": "yes"}], "checks[1].ok: found 'yes', wanted bool"),
        ([{**GOOD, "ok": 1}], "checks[0].ok: found 1, wanted bool"),
        ([{**GOOD, "level": "fatal"}], "checks[0].level: found 'fatal', wanted one of error, warning"),
        *(
            ([{key: value for key, value in GOOD.items() if key != field}], f"checks[0].{field}: found None, wanted")
            for field in GOOD
        ),
    ],
)
def test_malformed_checks_are_named(checks, problem):
    assert _verdict.malformed(checks).startswith(problem)


def test_failed_looks_at_result_and_level():
    assert _verdict.failed(CHECKS, "error") == [ERROR]
    assert _verdict.failed(CHECKS, "warning") == [WARNING]


@pytest.mark.parametrize(
    ("item", "sentence"),
    [
        (ERROR, "python: found 3.9, wanted 3.10. Install another."),
        (GOOD, "memory: found 64 GiB, wanted 8 GiB."),
        (check("x", False, "y"), "x: found y."),
        (check("x", False, "y", remedy="Do z."), "x: found y. Do z."),
    ],
)
def test_a_check_as_a_sentence(item, sentence):
    assert _verdict.sentence(item) == sentence


def test_the_message_has_a_line_for_each_error():
    assert _verdict.failure_message("preflight", "node-a", CHECKS) == (
        "preflight on node-a: 1 problem\n- python: found 3.9, wanted 3.10. Install another."
    )
    two = _verdict.failure_message("preflight", "node-a", [ERROR, *CHECKS])
    assert two.startswith("preflight on node-a: 2 problems\n- python: ")
    assert len(two.splitlines()) == 3


@pytest.mark.parametrize(("checks", "ok"), [([], True), ([GOOD, WARNING], True), (CHECKS, False)])
def test_errors_alone_decide_about_a_verdict(checks, ok):
    assert _verdict.verdict("gate", "node-a", "now", checks, {"a": 1}) == {
        "stage": "gate", "host": "node-a", "ok": ok, "checked_at": "now", "checks": checks, "details": {"a": 1}
    }  # fmt: skip


def outcome(checks, stage="gate", host="node-a", at="now", details=None):
    return _verdict.outcome(_verdict.verdict(stage, host, at, checks, details or {}))


@pytest.mark.parametrize(
    "other",
    [
        outcome(CHECKS, at="later"),
        outcome(CHECKS[::-1]),
        outcome([check("memory", True, "63 GiB", "7 GiB", "Else."), WARNING, ERROR]),
    ],
)
def test_moment_order_and_measured_values_make_no_other_outcome(other):
    assert outcome(CHECKS) == other


@pytest.mark.parametrize(
    "other",
    [
        outcome(CHECKS, stage="preflight"),
        outcome(CHECKS, details={"a": 1}),
        outcome(CHECKS[:2]),
        outcome([check("memory", False), WARNING, ERROR]),
        outcome([check("memory", True, level="warning"), WARNING, ERROR]),
        outcome([check("ram", True), WARNING, ERROR]),
    ],
)
def test_results_and_details_make_another_outcome(other):
    assert outcome(CHECKS) != other


@pytest.mark.parametrize("document", [None, [], "x", {"checks": None}, {"checks": ["x"]}])
def test_what_is_no_verdict_has_no_outcome(document):
    assert _verdict.outcome(document) is None
