# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  dashboard_url:
    description:
      - Address of the cluster's dashboard, which serves its REST API, as this host reaches it.
    type: str
    required: true
  token_path:
    description:
      - File on this host that holds the cluster's authentication token.
      - The token itself never appears among the arguments, in a log or in a diff.
      - Leave it out for a cluster without authentication.
    type: path
  request_timeout:
    description:
      - Seconds after which one request is given up.
    type: int
    default: 30
  validate_certs:
    description:
      - Whether the certificate of an C(https) dashboard is verified.
    type: bool
    default: true
  use_proxy:
    description:
      - Whether proxies from the environment are used. A cluster's private address is rarely behind one.
    type: bool
    default: false
"""
