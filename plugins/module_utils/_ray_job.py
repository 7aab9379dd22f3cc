# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Which submission of a job counts, and whether another one is needed.

A job is declared under an id of our choice. Ray accepts every id once, so a job that has to be submitted again (the
last attempt failed or was stopped) gets a number behind its id: ``ppo-1a2b``, ``ppo-1a2b.2``, ``ppo-1a2b.3``.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.rlops.verl.plugins.module_utils._ray_api import RayJob


@dataclass(frozen=True)
class Plan:
    """``action`` is ``submit``, ``attach`` (it is running), ``none`` (it is done) or ``refuse``."""

    action: str
    submission_id: str
    status: str
    reason: str


def attempt_number(submission_id: str, base: str) -> int | None:
    """1 for the id itself, n for ``<id>.n``, None for the id of another job."""
    if submission_id == base:
        return 1
    match = re.fullmatch(re.escape(base) + r"\.([2-9]|[1-9][0-9]+)", submission_id)
    return int(match[1]) if match else None


def attempts(jobs: Iterable[RayJob], base: str) -> list[tuple[int, RayJob]]:
    """The submissions of a job, oldest first."""
    numbered = [(attempt_number(job.submission_id, base), job) for job in jobs]
    return sorted(((n, job) for n, job in numbered if n is not None), key=lambda pair: pair[0])


def plan(jobs: Iterable[RayJob], base: str, exclusive: bool, resubmit: bool = True) -> Plan:
    """What has to be done so that the job runs or has run."""
    jobs = list(jobs)
    tried = attempts(jobs, base)
    if tried:
        number, latest = tried[-1]
        if not latest.terminal:
            return Plan("attach", latest.submission_id, latest.status, "it is running")
        if latest.status == "SUCCEEDED" or not resubmit:
            return Plan("none", latest.submission_id, latest.status, "it has ended")
        next_id, reason = f"{base}.{number + 1}", f"the last attempt {latest.submission_id} has status {latest.status}"
    else:
        next_id, reason = base, "the cluster does not know it"
    others = sorted(job.submission_id for job in jobs if not job.terminal)
    if exclusive and others:
        return Plan("refuse", next_id, "", f"the cluster is taken by running job {', '.join(others)}")
    return Plan("submit", next_id, "", reason)


def spec_digest(spec: Mapping[str, Any], length: int = 10) -> str:
    """Short digest of a job's declaration: equal declarations have equal digests, whatever the order of their keys."""
    # YAML has values that JSON has not, such as dates.
    text = json.dumps(spec, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:length]


def new_lines(log: str, offset: int, ended: bool) -> tuple[str, int]:
    """The part of a growing log behind ``offset`` characters, whole lines only unless the job has ended."""
    if offset > len(log):
        offset = 0  # the log was started anew: show it rather than lose it
    end = len(log) if ended else log.rfind("\n") + 1
    return (log[offset:end], end) if end > offset else ("", offset)
