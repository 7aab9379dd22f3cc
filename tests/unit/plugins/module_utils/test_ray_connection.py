# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import json
import socket
import threading

import pytest
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.testing import patch_module_args

from ansible_collections.rlops.verl.plugins.module_utils._ray_api import RayApiError
from ansible_collections.rlops.verl.plugins.module_utils._ray_connection import RAY_API_OPTIONS, connect, read_token
from ansible_collections.rlops.verl.tests.unit import fake_ray_api
from ansible_collections.rlops.verl.tests.unit.fake_ray_api import TOKEN


@pytest.fixture
def server(tmp_path):
    with fake_ray_api.serving(tmp_path) as api:
        yield api


def module_of(url: str, **arguments: object) -> AnsibleModule:
    with patch_module_args({"dashboard_url": url, **arguments}):
        return AnsibleModule(argument_spec=RAY_API_OPTIONS)


def version_at(url: str, **arguments: object) -> tuple[str, str]:
    return connect(module_of(url, **arguments)).version()


def problem_at(url: str, **arguments: object) -> str:
    with pytest.raises(RayApiError) as caught:
        version_at(url, **arguments)
    return str(caught.value)


# ---- The token file


@pytest.mark.parametrize("content", [TOKEN, f"{TOKEN}\n", f"  {TOKEN}\r\n\n"])
def test_a_token_is_what_is_in_the_file_without_white_space(tmp_path, content):
    (tmp_path / "token").write_text(content)
    assert read_token(str(tmp_path / "token")) == TOKEN


@pytest.mark.parametrize("path", [None, ""])
def test_without_a_file_there_is_no_token(path):
    assert read_token(path) == ""


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read (No such file or directory)"),
        (b"", "is empty, wanted the cluster's token"),
        (b" \n\t\n", "is empty"),
        (b"one\ntwo", "holds more than one line of ASCII text"),
        ("schlüssel".encode(), "holds more than one line of ASCII text"),
        (b"\xff\xfe\x00k", "holds more than one line of ASCII text"),
    ],
)
def test_a_file_without_a_token_is_named(tmp_path, content, message):
    path = tmp_path / "token"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ValueError) as caught:
        read_token(str(path))
    assert f"token_path: {path} {message}" in str(caught.value)
    assert "two" not in str(caught.value)


def test_a_directory_is_no_token_file(tmp_path):
    with pytest.raises(ValueError, match="cannot be read"):
        read_token(str(tmp_path))


# ---- Requests


def test_the_token_opens_the_api(server):
    assert version_at(server.url, token_path=server.token_path) == ("2.60.0", "session_1")
    assert "refuses the token (HTTP 401)" in problem_at(server.url)


def test_the_module_says_nothing_that_has_the_token(server, capsys):
    arguments = {"dashboard_url": server.url, "token_path": server.token_path}
    with patch_module_args(arguments), pytest.raises(SystemExit):
        module = AnsibleModule(argument_spec=RAY_API_OPTIONS)
        connect(module)
        module.fail_json(msg=f"the server said: Bearer {TOKEN}")
    assert json.loads(capsys.readouterr().out)["msg"] == "the server said: Bearer ********"


def test_the_token_does_not_follow_a_redirection(server, tmp_path_factory):
    with fake_ray_api.serving(tmp_path_factory.mktemp("other")) as other:
        server.stranger = (302, {"Location": f"{other.url}/api/version"}, b"")
        assert "HTTP 302" in problem_at(server.url, token_path=server.token_path)
        assert other.requests == []


def test_proxies_of_the_environment_are_used_only_when_asked_for(server, monkeypatch):
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    with fake_ray_api.nobody() as proxy:
        monkeypatch.setenv("http_proxy", proxy)
        assert version_at(server.url, token_path=server.token_path)[0] == "2.60.0"
        assert "does not answer" in problem_at(server.url, token_path=server.token_path, use_proxy=True)


def test_nobody_listens():
    with fake_ray_api.nobody() as url:
        assert f"{url} does not answer (" in problem_at(url)


def test_somebody_listens_and_is_silent():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        assert "does not answer (timed out)" in problem_at(url, request_timeout=1)


@pytest.mark.parametrize("greeting", [b"SSH-2.0-x\r\n", b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"])
def test_somebody_listens_and_speaks_no_http_or_stops_in_the_middle(greeting):
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def speak():
            client = listener.accept()[0]
            with client:
                client.recv(65536)
                client.sendall(greeting)

        thread = threading.Thread(target=speak)
        thread.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        assert "does not answer (" in problem_at(url)
        thread.join()


@pytest.mark.parametrize("url", ["localhost", "10.0.0.1:8265", "http://127.0.0.1:port", "ray://127.0.0.1:1"])
def test_what_is_no_address_does_not_answer(url):
    assert f"{url} does not answer (" in problem_at(url)
