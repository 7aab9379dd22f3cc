# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Ray's REST API (dashboard port): requests, errors in words, answers as typed values.

The transport is a callable ``fetch(method, url, headers, body) -> (status, bytes)`` that raises ConnectionError when
nothing answers, so that everything here is tested without a server.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import quote

Fetch = Callable[[str, str, Mapping[str, str], "bytes | None"], "tuple[int, bytes]"]

TERMINAL = ("SUCCEEDED", "FAILED", "STOPPED")


class RayApiError(Exception):
    """A request that failed, in words; ``status`` is the HTTP status, 0 when nothing answered."""

    def __init__(self, message: str, status: int):
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class RayNode:
    node_id: str
    name: str
    address: str
    alive: bool
    is_head: bool
    state_message: str
    slots: int
    cpus: int
    memory_bytes: int
    object_store_bytes: int


@dataclass(frozen=True)
class RayJob:
    submission_id: str
    status: str
    message: str
    entrypoint: str
    driver_exit_code: int | None
    driver_node_id: str
    start_time_ms: int
    end_time_ms: int
    metadata: dict[str, str]

    @property
    def terminal(self) -> bool:
        return self.status in TERMINAL

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "terminal": self.terminal}


def parse_node(raw: Mapping[str, Any]) -> RayNode:
    """One entry of ``/api/v0/nodes?detail=true``."""
    resources = raw.get("resources_total") or {}
    return RayNode(
        node_id=str(raw.get("node_id") or ""),
        name=str(raw.get("node_name") or ""),
        address=str(raw.get("node_ip") or ""),
        alive=raw.get("state") == "ALIVE",
        is_head=bool(raw.get("is_head_node")),
        state_message=str(raw.get("state_message") or ""),
        slots=int(resources.get("GPU", 0)),
        cpus=int(resources.get("CPU", 0)),
        memory_bytes=int(resources.get("memory", 0)),
        object_store_bytes=int(resources.get("object_store_memory", 0)),
    )


def parse_job(raw: Mapping[str, Any]) -> RayJob:
    """One entry of ``/api/jobs/``."""
    return RayJob(
        submission_id=str(raw.get("submission_id") or ""),
        status=str(raw.get("status") or ""),
        message=str(raw.get("message") or ""),
        entrypoint=str(raw.get("entrypoint") or ""),
        driver_exit_code=raw.get("driver_exit_code"),
        driver_node_id=str(raw.get("driver_node_id") or ""),
        start_time_ms=int(raw.get("start_time") or 0),
        end_time_ms=int(raw.get("end_time") or 0),
        metadata={str(k): str(v) for k, v in (raw.get("metadata") or {}).items()},
    )


class RayApi:
    """The few calls that the modules need. ``url`` is the dashboard's, such as ``http://10.0.0.1:8265``."""

    def __init__(self, url: str, token: str, fetch: Fetch):
        self._url = url.rstrip("/")
        self._token = token
        self._fetch = fetch

    def version(self) -> tuple[str, str]:
        """Ray's version and the name of the cluster's session."""
        answer = self._json("GET", "/api/version")
        return str(answer.get("ray_version")), str(answer.get("session_name"))

    def nodes(self) -> list[RayNode]:
        """All nodes the cluster knows, the dead ones too."""
        answer = self._json("GET", "/api/v0/nodes?detail=true&limit=10000")
        listing = ((answer.get("data") or {}).get("result") or {}).get("result") or []
        return [parse_node(raw) for raw in listing]

    def jobs(self) -> list[RayJob]:
        """Jobs that were submitted (drivers that joined by themselves have no submission id and are left out)."""
        return [job for job in map(parse_job, self._json("GET", "/api/jobs/", kind=list)) if job.submission_id]

    def running(self) -> list[str]:
        """Names of everything that has not ended: submission ids, and drivers that joined by themselves."""
        listing = self._json("GET", "/api/jobs/", kind=list)
        going = [raw for raw in listing if str(raw.get("status") or "") not in TERMINAL]
        return sorted(str(raw.get("submission_id") or f"driver {raw.get('job_id')}") for raw in going)

    def job(self, submission_id: str) -> RayJob | None:
        """The job, or None when the cluster does not know it."""
        try:
            return parse_job(self._json("GET", f"/api/jobs/{quote(submission_id, safe='')}"))
        except RayApiError as error:
            if error.status == 404:
                return None
            raise

    def logs(self, submission_id: str) -> str:
        """The whole driver log up to now; empty while the driver has not started."""
        try:
            answer = self._json("GET", f"/api/jobs/{quote(submission_id, safe='')}/logs")
        except RayApiError as error:
            if error.status == 404:
                return ""
            raise
        return str(answer.get("logs") or "")

    def submit(
        self, submission_id: str, entrypoint: str, runtime_env: Mapping[str, Any], metadata: Mapping[str, str]
    ) -> str:
        """Submit a job under the chosen id and return that id."""
        body = {
            "submission_id": submission_id,
            "entrypoint": entrypoint,
            "runtime_env": dict(runtime_env),
            "metadata": dict(metadata),
        }
        return str(self._json("POST", "/api/jobs/", body)["submission_id"])

    def has_package(self, name: str) -> bool:
        """Whether the cluster stores a package. It then keeps it for ten minutes, even without a job that uses it."""
        try:
            self._request("GET", f"/api/packages/gcs/{quote(name, safe='')}")
        except RayApiError as error:
            if error.status == 404:
                return False
            raise
        return True

    def upload_package(self, name: str, archive: bytes) -> None:
        """Store a zip archive, which a runtime environment then names as ``gcs://<name>``."""
        self._request("PUT", f"/api/packages/gcs/{quote(name, safe='')}", archive, "application/octet-stream")

    def stop(self, submission_id: str) -> bool:
        """Ask for the job to be stopped; True when it was still running."""
        return bool(self._json("POST", f"/api/jobs/{quote(submission_id, safe='')}/stop").get("stopped"))

    def _json(self, method: str, path: str, body: object = None, kind: type = dict) -> Any:
        data = None if body is None else json.dumps(body).encode()
        text = self._request(method, path, data, "application/json").decode(errors="replace")
        try:
            answer = json.loads(text)
        except ValueError:
            answer = None
        if not isinstance(answer, kind):
            raise RayApiError(
                f"{method} {path} at {self._url}: the answer is not Ray's ({text[:80]!r}). "
                "Does another program listen on this port?",
                200,
            )
        return answer

    def _request(self, method: str, path: str, data: bytes | None = None, content_type: str = "") -> bytes:
        headers = {"Accept": "application/json"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        if data is not None:
            headers["Content-Type"] = content_type
        try:
            status, answer = self._fetch(method, self._url + path, headers, data)
        except ConnectionError as error:
            raise RayApiError(
                f"Ray's API at {self._url} does not answer ({error}). Is the head's Ray running, and is this the "
                "address and port of its dashboard?",
                0,
            ) from error
        if status in (401, 403):
            raise RayApiError(
                f"Ray's API at {self._url} refuses the token (HTTP {status}). The token file of this host and that of "
                "the running cluster differ: distribute the cluster's token, or point to the right token file.",
                status,
            )
        if status >= 300:
            text = answer.decode(errors="replace").strip()
            reason = text.splitlines()[-1] if text else "no reason given"
            raise RayApiError(f"{method} {path} at {self._url}: HTTP {status}: {reason}", status)
        return answer
