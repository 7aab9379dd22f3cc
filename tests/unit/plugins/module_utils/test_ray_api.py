# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import json

import pytest

from ansible_collections.rlops.verl.plugins.module_utils._ray_api import RayApi, RayApiError, parse_job, parse_node

JOB = {"submission_id": "ppo", "status": "RUNNING"}


class Transport:
    """Answers all requests alike and keeps them."""

    def __init__(self, answer: object = b"", status: int = 200):
        self.answer = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.status = status
        self.requests: list[tuple] = []

    def __call__(self, method, url, headers, body):
        self.requests.append((method, url, headers, body))
        return self.status, self.answer

    def api(self, token: str = "t0ken") -> RayApi:
        return RayApi("http://10.0.0.1:8265/", token, self)


def error_of(call, answer: object, status: int = 200) -> RayApiError:
    with pytest.raises(RayApiError) as caught:
        call(Transport(answer, status).api())
    return caught.value


# ---- Requests


@pytest.mark.parametrize(
    ("call", "request_line", "answer", "result"),
    [
        (
            lambda api: api.version(),
            "GET /api/version",
            {"ray_version": "2.60.0", "session_name": "s"},
            ("2.60.0", "s"),
        ),
        (lambda api: api.jobs(), "GET /api/jobs/", [JOB], [parse_job(JOB)]),
        (lambda api: api.job("a/b?c"), "GET /api/jobs/a%2Fb%3Fc", JOB, parse_job(JOB)),
        (lambda api: api.logs("a b"), "GET /api/jobs/a%20b/logs", {"logs": "x\n"}, "x\n"),
        (lambda api: api.logs("a"), "GET /api/jobs/a/logs", {"logs": None}, ""),
        (lambda api: api.stop("a#b"), "POST /api/jobs/a%23b/stop", {"stopped": True}, True),
        (lambda api: api.stop("a"), "POST /api/jobs/a/stop", {"stopped": False}, False),
        (lambda api: api.has_package("p.zip"), "GET /api/packages/gcs/p.zip", b"", True),
        (
            lambda api: api.nodes(),
            "GET /api/v0/nodes?detail=true&limit=10000",
            {"data": {"result": {"result": [{"node_id": "n"}]}}},
            [parse_node({"node_id": "n"})],
        ),
        (lambda api: api.nodes(), "GET /api/v0/nodes?detail=true&limit=10000", {"data": None}, []),
    ],
)
def test_a_call_is_one_request(call, request_line, answer, result):
    transport = Transport(answer)
    assert call(transport.api()) == result
    ((method, url, headers, body),) = transport.requests
    assert f"{method} {url}" == request_line.replace("/api", "http://10.0.0.1:8265/api", 1)
    assert (headers, body) == ({"Accept": "application/json", "Authorization": "Bearer t0ken"}, None)


def test_a_submission_carries_the_job_as_json():
    transport = Transport({"submission_id": "ppo"})
    assert transport.api().submit("ppo", "python x.py", {"env_vars": {"A": "1"}}, {"b": "c"}) == "ppo"
    ((method, url, headers, body),) = transport.requests
    assert (method, url) == ("POST", "http://10.0.0.1:8265/api/jobs/")
    assert headers["Content-Type"] == "application/json"
    assert json.loads(body) == {
        "submission_id": "ppo",
        "entrypoint": "python x.py",
        "runtime_env": {"env_vars": {"A": "1"}},
        "metadata": {"b": "c"},
    }


def test_a_package_is_sent_as_it_is():
    transport = Transport()
    transport.api().upload_package("p/q.zip", b"PK\xff")
    ((method, url, headers, body),) = transport.requests
    assert (method, url, body) == ("PUT", "http://10.0.0.1:8265/api/packages/gcs/p%2Fq.zip", b"PK\xff")
    assert headers["Content-Type"] == "application/octet-stream"


def test_a_cluster_without_authentication_gets_no_token():
    transport = Transport([])
    transport.api(token="").jobs()
    assert "Authorization" not in transport.requests[0][2]


# ---- Errors


@pytest.mark.parametrize(
    ("call", "result"),
    [
        (lambda api: api.job("a"), None),
        (lambda api: api.logs("a"), ""),
        (lambda api: api.has_package("p"), False),
    ],
)
def test_what_the_cluster_does_not_know_is_an_answer_and_nothing_else_is(call, result):
    assert call(Transport(b"Job a does not exist", 404).api()) == result
    assert error_of(call, b"", 500).status == 500


def test_what_cannot_be_stopped_is_an_error():
    assert error_of(lambda api: api.stop("a"), b"Job a does not exist", 404).status == 404


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_token_is_named_without_its_text(status):
    error = error_of(lambda api: api.job("a"), b"t0ken", status)
    assert error.status == status
    assert f"refuses the token (HTTP {status})" in str(error)
    assert "token file" in str(error)
    assert "t0ken" not in str(error)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"Traceback:\n  File x\nValueError: Job a already exists.\n", "HTTP 500: ValueError: Job a already exists."),
        (b" \n", "HTTP 500: no reason given"),
        (b"\xff", "HTTP 500: \N{REPLACEMENT CHARACTER}"),
    ],
)
def test_the_last_line_of_an_error_is_the_reason(text, reason):
    message = str(error_of(lambda api: api.submit("a", "x", {}, {}), text, 500))
    assert message == f"POST /api/jobs/ at http://10.0.0.1:8265: {reason}"


def test_a_redirection_is_an_error():
    assert error_of(lambda api: api.version(), b"{}", 302).status == 302


@pytest.mark.parametrize(
    ("call", "answer"),
    [
        (lambda api: api.version(), b"<html>"),
        (lambda api: api.version(), b""),
        (lambda api: api.version(), b"[]"),
        (lambda api: api.job("a"), b"null"),
        (lambda api: api.logs("a"), b'"text"'),
        (lambda api: api.jobs(), b'{"jobs": []}'),
        (lambda api: api.jobs(), b"\xff\xfe"),
    ],
)
def test_the_answer_of_another_program_is_told_from_rays(call, answer):
    error = error_of(call, answer)
    assert "the answer is not Ray's" in str(error)
    assert answer.decode(errors="replace").strip('"')[:4] in str(error)
    assert "another program" in str(error)


def test_nobody_that_answers_is_an_error_without_a_status():
    def refuse(*_request):
        raise ConnectionError("Connection refused")

    with pytest.raises(RayApiError, match=r"http://10.0.0.1:8265 does not answer \(Connection refused\)") as caught:
        RayApi("http://10.0.0.1:8265", "", refuse).job("a")
    assert caught.value.status == 0


# ---- Answers


def test_a_job_with_everything():
    raw = {
        "submission_id": "ppo", "status": "FAILED", "message": "m", "entrypoint": "e", "driver_exit_code": 1,
        "driver_node_id": "n", "start_time": 5, "end_time": 7, "metadata": {"a": 1}, "job_id": "02",
    }  # fmt: skip
    assert parse_job(raw).as_dict() == {
        "submission_id": "ppo", "status": "FAILED", "message": "m", "entrypoint": "e", "driver_exit_code": 1,
        "driver_node_id": "n", "start_time_ms": 5, "end_time_ms": 7, "metadata": {"a": "1"}, "terminal": True,
    }  # fmt: skip


def test_a_job_that_ray_says_nothing_about():
    nothing = dict.fromkeys(("message", "driver_node_id", "driver_exit_code", "start_time", "end_time", "metadata"))
    job = parse_job({**JOB, **nothing})
    assert (job.message, job.driver_node_id, job.driver_exit_code) == ("", "", None)
    assert (job.start_time_ms, job.end_time_ms, job.metadata) == (0, 0, {})


@pytest.mark.parametrize(
    ("status", "terminal"),
    [("PENDING", False), ("RUNNING", False), ("SUCCEEDED", True), ("FAILED", True), ("STOPPED", True), ("", False)],
)
def test_which_states_are_an_end(status, terminal):
    assert parse_job({"status": status}).terminal is terminal


def test_drivers_that_joined_by_themselves_are_no_jobs():
    jobs = Transport([{"submission_id": None, "job_id": "01"}, JOB]).api().jobs()
    assert [job.submission_id for job in jobs] == ["ppo"]


def test_a_node_with_everything():
    node = parse_node(
        {
            "node_id": "n", "node_name": "gpu1", "node_ip": "10.0.0.1", "state": "ALIVE", "state_message": None,
            "is_head_node": True,
            "resources_total": {"GPU": 8.0, "CPU": 96.0, "memory": 5.0, "object_store_memory": 7.0},
        }
    )  # fmt: skip
    assert (node.node_id, node.name, node.address, node.alive, node.is_head) == ("n", "gpu1", "10.0.0.1", True, True)
    assert (node.slots, node.cpus, node.memory_bytes, node.object_store_bytes) == (8, 96, 5, 7)
    assert node.state_message == ""


def test_a_dead_node_has_nothing():
    node = parse_node({"node_ip": "10.0.0.2", "state": "DEAD", "state_message": "lost", "resources_total": None})
    assert (node.alive, node.is_head, node.state_message, node.slots, node.cpus) == (False, False, "lost", 0, 0)
