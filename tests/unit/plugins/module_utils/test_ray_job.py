# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.rlops.verl.plugins.module_utils import _ray_job
from ansible_collections.rlops.verl.plugins.module_utils._ray_api import parse_job


def jobs(**statuses: str) -> list:
    """Jobs by id, with an underscore where the id has a dot."""
    named = [{"submission_id": name.replace("_", "."), "status": status} for name, status in statuses.items()]
    return list(map(parse_job, named))


@pytest.mark.parametrize(
    ("submission_id", "number"),
    [
        ("a.b", 1),
        ("a.b.2", 2),
        ("a.b.10", 10),
        ("a.b.1", None),
        ("a.b.0", None),
        ("a.b.02", None),
        ("a.b.", None),
        ("a.b.2.3", None),
        ("a.b2", None),
        ("axb", None),
        ("axb.2", None),
        ("x.a.b", None),
        ("a.b.2\n", None),
    ],
)
def test_attempts_are_told_from_other_jobs(submission_id, number):
    assert _ray_job.attempt_number(submission_id, "a.b") == number


@given(st.text(min_size=1), st.integers(min_value=2))
def test_whatever_the_id_its_attempts_are_its_own(base, number):
    assert _ray_job.attempt_number(f"{base}.{number}", base) == number
    assert _ray_job.attempt_number(f"{base}.{number}", f"{base}x") is None


def test_attempts_are_ordered_by_number():
    found = _ray_job.attempts(jobs(a_10="FAILED", b="RUNNING", a="FAILED", a_2="STOPPED"), "a")
    assert [(number, job.status) for number, job in found] == [(1, "FAILED"), (2, "STOPPED"), (10, "FAILED")]


@pytest.mark.parametrize(
    ("statuses", "options", "action", "submission_id", "status"),
    [
        ({}, {}, "submit", "a", ""),
        ({"b": "RUNNING"}, {}, "submit", "a", ""),
        ({"a": "PENDING"}, {}, "attach", "a", "PENDING"),
        ({"a": "RUNNING"}, {"resubmit": False}, "attach", "a", "RUNNING"),
        ({"a": "RUNNING", "b": "RUNNING"}, {"exclusive": True}, "attach", "a", "RUNNING"),
        ({"a": "SUCCEEDED"}, {}, "none", "a", "SUCCEEDED"),
        ({"a": "SUCCEEDED", "b": "RUNNING"}, {"exclusive": True}, "none", "a", "SUCCEEDED"),
        ({"a": "FAILED"}, {}, "submit", "a.2", ""),
        ({"a": "STOPPED"}, {}, "submit", "a.2", ""),
        ({"a": "FAILED"}, {"resubmit": False}, "none", "a", "FAILED"),
        ({"a_9": "FAILED", "a_10": "FAILED", "a": "SUCCEEDED"}, {}, "submit", "a.11", ""),
        ({"a": "FAILED", "a_2": "RUNNING"}, {}, "attach", "a.2", "RUNNING"),
        ({"a": "FAILED", "a_2": "SUCCEEDED"}, {}, "none", "a.2", "SUCCEEDED"),
        ({"a": "FAILED", "b": "SUCCEEDED"}, {"exclusive": True}, "submit", "a.2", ""),
        ({"a": "FAILED", "b": "PENDING"}, {"exclusive": True}, "refuse", "a.2", ""),
        ({"b": "RUNNING"}, {"exclusive": True, "resubmit": False}, "refuse", "a", ""),
    ],
)
def test_plan(statuses, options, action, submission_id, status):
    plan = _ray_job.plan(iter(jobs(**statuses)), "a", **{"exclusive": False, **options})
    assert (plan.action, plan.submission_id, plan.status) == (action, submission_id, status)


def test_a_plan_says_why():
    def reason(exclusive=False, **statuses):
        return _ray_job.plan(jobs(**statuses), "a", exclusive).reason

    assert reason() == "the cluster does not know it"
    assert reason(a="FAILED", a_2="STOPPED") == "the last attempt a.2 has status STOPPED"
    assert reason(exclusive=True, c="RUNNING", b="PENDING", d="FAILED") == "the cluster is taken by running job b, c"


def test_equal_declarations_have_equal_digests():
    digest = _ray_job.spec_digest({"a": 1, "b": {"c": [1, 2], "d": "é"}})
    assert digest == _ray_job.spec_digest({"b": {"d": "é", "c": [1, 2]}, "a": 1})
    assert len(digest) == 10
    assert len(_ray_job.spec_digest({}, 32)) == 32


@pytest.mark.parametrize("other", [{"a": "1"}, {"a": 2}, {"b": 1}, {"a": 1, "b": None}, {"a": True}, {"a": [1]}, {}])
def test_other_declarations_have_other_digests(other):
    assert _ray_job.spec_digest(other) != _ray_job.spec_digest({"a": 1})


@pytest.mark.parametrize(
    ("log", "offset", "ended", "expected"),
    [
        ("", 0, False, ("", 0)),
        ("a\nb", 0, False, ("a\n", 2)),
        ("a\nb", 2, False, ("", 2)),
        ("a\nb", 2, True, ("b", 3)),
        ("a\nb\n", 2, False, ("b\n", 4)),
        ("a\n", 2, True, ("", 2)),
        # A log that is shorter than what is known was started anew.
        ("b\n", 9, False, ("b\n", 2)),
        ("b", 9, False, ("", 0)),
    ],
)
def test_new_lines(log, offset, ended, expected):
    assert _ray_job.new_lines(log, offset, ended) == expected


@given(st.lists(st.text(alphabet="ab\n", max_size=5)))
def test_a_log_that_is_followed_is_read_whole_and_in_lines(pieces):
    offset, read = 0, ""
    for end in range(len(pieces) + 1):
        part, offset = _ray_job.new_lines("".join(pieces[:end]), offset, ended=False)
        assert part == "" or part.endswith("\n")
        read += part
    rest, offset = _ray_job.new_lines("".join(pieces), offset, ended=True)
    assert read + rest == "".join(pieces)
    assert offset == len(read + rest)
