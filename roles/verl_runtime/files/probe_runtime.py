# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Import what a release is made of and print the checks and versions as JSON.

Argument: base64 of a JSON object, module name to {"distribution", "version"}.
"""

from __future__ import annotations

import base64
import importlib
import importlib.metadata
import json
import platform
import sys


def look_at(module: str, distribution: str, wanted: str) -> tuple[dict, str]:
    try:
        found = importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        found = "not installed"
    problem = ""
    try:
        importlib.import_module(module)
    # An import can fail with anything a library raises while it is loaded; each of it is a finding, not an end.
    except Exception as error:
        problem = f", and it cannot be imported: {type(error).__name__}: {error}"
    check = {
        "name": f"import {module}",
        "ok": found == wanted and not problem,
        "level": "error",
        "found": f"{distribution} {found}{problem}",
        "wanted": f"{distribution} {wanted}, importable",
        "remedy": "Remove this environment and run again to build it anew.",
    }
    return check, found


def main() -> None:
    wanted = json.loads(base64.b64decode(sys.argv[1]))
    checks, versions = [], {"python": platform.python_version()}
    for module, pin in wanted.items():
        check, versions[pin["distribution"]] = look_at(module, pin["distribution"], pin["version"])
        checks.append(check)
    distributions = {d.metadata["Name"].lower(): d.version for d in importlib.metadata.distributions()}
    document = {"checks": checks, "versions": versions, "distributions": distributions}
    print(json.dumps(document, indent=2, sort_keys=True))


if __name__ == "__main__":
    main()
