# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The job API of a Ray head, as far as the collection speaks to it, on a port of 127.0.0.1."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote

import pytest
from ansible.module_utils.testing import patch_module_args

TOKEN = "t0ken-of-the-cluster"
NODE = "n0de"


class FakeRayApi:
    """What the cluster knows, and what it was asked for."""

    def __init__(self, directory: Path):
        self.url = ""
        self.token_path = str(directory / "ray_token")
        Path(self.token_path).write_text(f"{TOKEN}\n")
        self.jobs: dict[str, dict] = {}
        self.logs: dict[str, str] = {}
        self.packages: dict[str, bytes] = {}
        self.nodes: list[dict] = []
        self.requests: list[str] = []
        # One of them is called after each log that was read.
        self.later: list[Callable[[], object]] = []
        # Of a driver that joined by itself.
        self.driver_status = "SUCCEEDED"
        # Why Ray takes no more jobs, the last line of a traceback.
        self.refusal = ""
        # Another program in Ray's place: what it answers to everything.
        self.stranger: tuple[int, dict[str, str], bytes] | None = None

    @property
    def changes(self) -> list[str]:
        """The requests that were more than a look."""
        return [request for request in self.requests if not request.startswith("GET ")]

    def add(self, submission_id: str, status: str = "RUNNING", log: str = "", **values: object) -> None:
        ended = status in ("SUCCEEDED", "FAILED", "STOPPED")
        self.logs[submission_id] = log
        self.jobs[submission_id] = {
            "type": "SUBMISSION", "submission_id": submission_id, "job_id": None, "status": status, "message": None,
            "entrypoint": "python train.py", "start_time": 60_000, "end_time": 90_500 if ended else None,
            "metadata": {}, "runtime_env": {}, "driver_node_id": NODE, "driver_exit_code": None, **values,
        }  # fmt: skip

    def answer(self, method: str, path: str, authorization: str | None, body: bytes) -> tuple[int, dict, bytes]:
        self.requests.append(f"{method} {path}")
        if self.stranger is not None:
            return self.stranger
        if authorization is None:
            return 401, {}, b"Unauthorized: Missing authentication token"
        if authorization != f"Bearer {TOKEN}":
            return 403, {}, b"Forbidden: Invalid authentication token"
        status, answer = self._route(method, path, body)
        return status, {}, answer if isinstance(answer, bytes) else json.dumps(answer).encode()

    def _route(self, method: str, path: str, body: bytes) -> tuple[int, object]:
        api, _slash, name = path.removeprefix("/api/").partition("/")
        if path == "/api/version":
            return 200, {"version": "4", "ray_version": "2.60.0", "ray_commit": "c0ffee", "session_name": "session_1"}
        if path == "/api/v0/nodes?detail=true&limit=10000":
            return 200, {"result": True, "data": {"result": {"total": len(self.nodes), "result": self.nodes}}}
        if api == "packages" and method == "PUT":
            self.packages[name] = body
            return 200, b""
        if api == "packages":
            return (200, b"") if name in self.packages else (404, b"Package does not exist")
        if api == "jobs" and not name:
            driver = {"type": "DRIVER", "submission_id": None, "job_id": "01000000", "status": self.driver_status}
            return self._submit(json.loads(body)) if method == "POST" else (200, [*self.jobs.values(), driver])
        quoted, _slash, verb = name.partition("/")
        submission_id = unquote(quoted)
        if submission_id not in self.jobs:
            return 404, f"Job {submission_id} does not exist".encode()
        job = self.jobs[submission_id]
        if verb == "stop":
            stopped = job["status"] in ("PENDING", "RUNNING")
            job["status"] = "STOPPED" if stopped else job["status"]
            return 200, {"stopped": stopped}
        if verb == "logs":
            text = self.logs[submission_id]
            if self.later:
                self.later.pop(0)()
            return 200, {"logs": text}
        return 200, job

    def _submit(self, job: dict) -> tuple[int, object]:
        submission_id = job["submission_id"]
        problem = self.refusal
        if submission_id in self.jobs:
            problem = f"ValueError: Job with submission_id {submission_id} already exists."
        elif not all(isinstance(value, str) for value in job["metadata"].values()):
            problem = "TypeError: metadata values must be strings"
        if problem:
            return 500, f"Traceback (most recent call last):\n  File x\n{problem}\n".encode()
        values = {name: job[name] for name in ("entrypoint", "runtime_env", "metadata")}
        self.add(submission_id, "PENDING", **values)
        return 200, {"job_id": submission_id, "submission_id": submission_id}


@contextmanager
def serving(directory: Path) -> Iterator[FakeRayApi]:
    api = FakeRayApi(directory)

    class Handler(BaseHTTPRequestHandler):
        def handle_one(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, headers, answer = api.answer(self.command, self.path, self.headers.get("Authorization"), body)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer)

        do_GET = do_POST = do_PUT = handle_one

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    api.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield api
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def nobody() -> Iterator[str]:
    """An address where nothing listens, and nothing will."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


def run(capsys: pytest.CaptureFixture[str], module: ModuleType, api: FakeRayApi, **arguments: object) -> dict:
    """Run a module as Ansible does, without the options that are None. Whatever it answers has no token in it."""
    arguments = {"dashboard_url": api.url, "token_path": api.token_path, **arguments}
    given = {name: value for name, value in arguments.items() if value is not None}
    with patch_module_args(given), pytest.raises(SystemExit):
        module.main()
    output = capsys.readouterr()
    assert TOKEN not in output.out + output.err
    return json.loads(output.out)
