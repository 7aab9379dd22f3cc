# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The border between modules and Ray's REST API: options, token file, HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.urls import open_url

from ansible_collections.rlops.verl.plugins.module_utils._ray_api import RayApi

RAY_API_OPTIONS: dict[str, dict[str, Any]] = {
    "dashboard_url": {"type": "str", "required": True},
    "token_path": {"type": "path", "no_log": False},
    "request_timeout": {"type": "int", "default": 30},
    "validate_certs": {"type": "bool", "default": True},
    "use_proxy": {"type": "bool", "default": False},
}


def read_token(path: str | None) -> str:
    """The token in a file; raises ValueError that names the file and what is wrong with it."""
    if not path:
        return ""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            token = file.read().strip()
    except OSError as error:
        raise ValueError(
            f"token_path: {path} cannot be read ({error.strerror}). "
            "Give the token file of the running cluster and run as the user that owns it"
        ) from error
    if not token:
        raise ValueError(f"token_path: {path} is empty, wanted the cluster's token")
    # What no HTTP header can hold would end in an error that shows it.
    if not token.isascii() or not token.isprintable():
        raise ValueError(f"token_path: {path} holds more than one line of ASCII text, wanted the cluster's token alone")
    return token


def connect(module: AnsibleModule) -> RayApi:
    """The API that the module's options describe; fails the module when the token cannot be read."""
    try:
        return describe(module)
    except ValueError as error:
        module.fail_json(msg=str(error))
        raise  # never reached


def describe(module: AnsibleModule) -> RayApi:
    """As ``connect``, but raises ValueError when the token cannot be read."""
    token = read_token(module.params["token_path"])
    if token:
        module.no_log_values.add(token)

    def fetch(method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> tuple[int, bytes]:
        try:
            answer = open_url(
                url,
                method=method,
                headers=dict(headers),
                data=body,
                timeout=module.params["request_timeout"],
                validate_certs=module.params["validate_certs"],
                use_proxy=module.params["use_proxy"],
                follow_redirects="none",
            )
            return answer.status, answer.read()
        except HTTPError as error:
            return error.code, error.read()
        except URLError as error:
            raise ConnectionError(error.reason) from error
        # The last one for addresses such as "localhost".
        except (HTTPException, OSError, ValueError) as error:
            raise ConnectionError(error) from error

    return RayApi(module.params["dashboard_url"], token, fetch)
