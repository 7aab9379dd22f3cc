# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What a role says about itself: its argument specs agree with its defaults, and its README with its argument specs."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.rlops.verl.tests.tools import make_role_docs

ROOT = Path(__file__).resolve().parents[3]
ROLES = make_role_docs.roles(ROOT)
TOOL = "tests/tools/make_role_docs.py"

each_role = pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)


def defaults(role: Path) -> dict[str, Any]:
    return make_role_docs.load(role / "defaults" / "main.yml")


def options(role: Path) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Entry point, variable and its spec, parts of dictionaries included (``ray_cluster_ports.gcs``)."""

    def walk(specs: dict[str, Any], parent: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
        for name, spec in specs.items():
            yield parent + name, spec
            yield from walk(spec.get("options", {}), f"{parent}{name}.")

    for entry, document in make_role_docs.entry_points(role).items():
        for name, spec in walk(document["options"]):
            yield entry, name, spec


def tasks_of(node: Any) -> Iterator[dict[str, Any]]:
    """Every dictionary in a YAML document: plays, tasks, arguments."""
    if isinstance(node, dict):
        yield node
        node = list(node.values())
    if isinstance(node, list):
        for item in node:
            yield from tasks_of(item)


@each_role
def test_a_role_says_what_it_is(role):
    wanted = ("README.md", "meta/main.yml", "meta/argument_specs.yml")
    assert [name for name in wanted if not (role / name).is_file()] == []
    assert make_role_docs.load(role / "meta/main.yml")["galaxy_info"]["description"]


@each_role
def test_every_public_default_is_an_argument_of_main(role):
    public = {name for name in defaults(role) if not name.startswith("__")}
    assert {name for name in public if not name.startswith(f"{role.name}_")} == set(), "names begin with the role's"
    described = make_role_docs.entry_points(role)["main"]["options"]
    assert public - described.keys() == set(), "defaults without an argument spec"
    unset = {name for name, spec in described.items() if name not in public and not spec.get("required")}
    assert unset == set(), "arguments that are neither required nor have a default"


@each_role
def test_defaults_in_the_spec_are_those_of_the_role(role):
    real = defaults(role)
    for _entry, name, spec in options(role):
        if "." in name or name not in real:
            continue
        assert not spec.get("required"), f"{name} is required and has a default, which hides that it was not given"
        if "{{" in str(real[name]):
            assert "default" not in spec, f"{name} has no constant default"
        else:
            assert spec.get("default", "no default") == real[name], name


@each_role
def test_a_default_that_is_derived_is_described(role):
    main = make_role_docs.entry_points(role)["main"]
    for name, value in defaults(role).items():
        if "{{" not in str(value):
            continue
        description = " ".join(make_role_docs.items(main["options"][name]["description"]))
        assert "Default is " in description, name
        variables = re.findall(rf"(?<!\w)(?:verl|{role.name})_\w+", value)
        places = re.findall(r"(?:}}|~ ')/([\w./-]+)", value)
        last_resorts = re.findall(r"default\('?([\w.]+)'?\)", value)
        for word in variables + places + last_resorts:
            assert re.search(rf"[CO]\({re.escape(word)}\)", description), f"{name}: says nothing of {word}"


@each_role
def test_every_argument_has_a_type_and_a_description(role):
    for entry, name, spec in options(role):
        assert spec.get("type"), f"{entry}: {name}"
        assert all(text.endswith(".") for text in make_role_docs.items(spec["description"])), f"{entry}: {name}"
        assert ("elements" in spec) == (spec["type"] == "list"), f"{entry}: {name}"


@each_role
def test_what_descriptions_refer_to_exists(role):
    known = {name for _entry, name, _spec in options(role)}
    text = (role / "meta/argument_specs.yml").read_text()
    assert set(re.findall(r"\bO\(([^)]*)\)", text)) - known == set()
    neighbours = {other.name for other in ROLES}
    assert set(re.findall(r"\bP\(rlops\.verl\.(\w+)#role\)", text)) - neighbours == set()


@each_role
def test_the_example_is_a_play_with_arguments_that_exist(role):
    main = make_role_docs.entry_points(role)["main"]
    used = [item for play in yaml.safe_load(main["examples"]) for item in play["roles"]]
    assert {item["role"] for item in used} == {f"rlops.verl.{role.name}"}
    for item in used:
        assert item["vars"].keys() - main["options"].keys() == set()
    required = {name for name, spec in main["options"].items() if spec.get("required")}
    assert all(required <= item["vars"].keys() for item in used)


@each_role
def test_every_entry_point_is_a_file_of_tasks(role):
    missing = [entry for entry in make_role_docs.entry_points(role) if not (role / f"tasks/{entry}.yml").is_file()]
    assert missing == []


def test_entry_points_that_are_used_have_an_argument_spec():
    """Ansible looks the spec up by the very text of tasks_from: ``verify.yml`` would be run without validation."""
    used = []
    for file in [*ROOT.glob("playbooks/*.yml"), *ROOT.glob("roles/*/tasks/*.yml"), *ROOT.glob("molecule/*/*.yml")]:
        for node in tasks_of(yaml.safe_load(file.read_text())):
            if "tasks_from" in node:
                used.append((file.relative_to(ROOT), node["name"].rpartition(".")[2], node["tasks_from"]))
    assert used
    wrong = [use for use in used if use[2] not in make_role_docs.entry_points(ROOT / "roles" / use[1])]
    assert wrong == []


def test_the_readmes_are_current():
    result = subprocess.run([sys.executable, TOOL, "--check"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (0, ""), "run `make role-docs`"
