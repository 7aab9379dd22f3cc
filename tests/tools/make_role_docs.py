# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Write ``README.md`` of every role from its ``meta/argument_specs.yml`` and ``meta/main.yml``: ``make role-docs``.

``--check`` writes nothing, names the files that are not current, and fails if there are any.
"""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
WIDTH = 120

# Ansible's markup, without the URLs and nested parentheses that nobody uses here.
CODE = re.compile(r"\b[COV]\(([^)]*)\)")
LINK = re.compile(r"\b[MP]\(([^)#]*)(?:#\w+)?\)")


def main() -> int:
    parser = argparse.ArgumentParser(description="Write the READMEs of the roles.")
    parser.add_argument("--check", action="store_true", help="only name the files that are not current")
    check = parser.parse_args().check
    stale = []
    for role in roles(ROOT):
        target, text = role / "README.md", readme(role)
        if target.exists() and target.read_text() == text:
            continue
        stale.append(target.relative_to(ROOT))
        if not check:
            target.write_text(text)
    for path in stale:
        print(f"{path}: {'not current, wanted what `make role-docs` writes' if check else 'changed'}")
    return 1 if check and stale else 0


def roles(root: Path) -> list[Path]:
    return sorted(folder for folder in (root / "roles").iterdir() if folder.is_dir())


def load(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def entry_points(role: Path) -> dict[str, dict[str, Any]]:
    """The argument specs of a role, by entry point; ``main`` is what a play runs that names the role alone."""
    return load(role / "meta" / "argument_specs.yml")["argument_specs"]


def readme(role: Path) -> str:
    entries = entry_points(role)
    main = entries["main"]
    blocks = [
        f"# {role.name}",
        "<!-- Made from meta/argument_specs.yml by `make role-docs`: change it there. -->",
        paragraph(f"{main['short_description']}."),
        *map(paragraph, items(main["description"])),
        "## Example",
        f"```yaml\n{main['examples'].strip()}\n```",
        "## Variables",
        options(main["options"]),
    ]
    for name, entry in entries.items():
        if name != "main":
            blocks += [f"## Entry point `{name}`", *entry_point(role, name, entry, main)]
    blocks += ["## Requirements", requirements(load(role / "meta" / "main.yml")["galaxy_info"])]
    return "\n\n".join(blocks) + "\n"


def entry_point(role: Path, name: str, entry: Mapping[str, Any], main: Mapping[str, Any]) -> Iterator[str]:
    yield paragraph(f"{entry['short_description']}.")
    yield from map(paragraph, items(entry["description"]))
    yield f"```yaml\n- ansible.builtin.include_role:\n    name: rlops.verl.{role.name}\n    tasks_from: {name}\n```"
    own = {option: spec for option, spec in entry["options"].items() if main["options"].get(option) != spec}
    if own:
        yield options(own)
    shared = [f"`{option}`" for option in entry["options"] if option not in own]
    if len(shared) == len(main["options"]):
        yield "It takes all variables above."
    elif shared:
        yield paragraph(f"Of the variables above, it takes {', '.join(shared)}.")


def options(specs: Mapping[str, Mapping[str, Any]], defaults: Mapping[str, Any] | None = None, depth: int = 0) -> str:
    """A list of variables. ``defaults`` are those of the parts of a dictionary, which has one for them together."""
    lines = []
    for name, spec in specs.items():
        parts = spec.get("options", {})
        if defaults is not None:
            spec = {**spec, **({"default": defaults[name]} if name in defaults else {})}
        facts = list(features(spec, with_default=not parts))
        text = f"- `{name}` ({'; '.join(facts)}): {' '.join(items(spec['description']))}"
        lines.append(textwrap.indent(paragraph(text, hang="  "), "  " * depth))
        if parts:
            lines.append(options(parts, spec.get("default", {}), depth + 1))
    return "\n".join(lines)


def features(spec: Mapping[str, Any], with_default: bool) -> Iterator[str]:
    elements = spec.get("elements")
    yield f"list of {elements}" if elements else spec["type"]
    if "choices" in spec:
        *others, last = (f"`{choice}`" for choice in spec["choices"])
        yield f"{', '.join(others)} or {last}" if others else last
    if with_default and "default" in spec:
        yield f"default `{shown(spec['default'])}`"
    elif spec.get("required"):
        yield "required"


def shown(value: Any) -> str:
    """A default as one would write it in YAML, on one line."""
    if value == "":
        return '""'
    return yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=10_000).removesuffix("...\n").strip()


def requirements(galaxy_info: Mapping[str, Any]) -> str:
    platforms = [f"{platform['name']} ({', '.join(platform['versions'])})" for platform in galaxy_info["platforms"]]
    return paragraph(
        f"ansible-core {galaxy_info['min_ansible_version']} or newer on the controller. "
        f"Hosts with {' or '.join(platforms)}."
    )


def items(description: str | list[str]) -> list[str]:
    return [description] if isinstance(description, str) else description


def paragraph(text: str, hang: str = "") -> str:
    """One paragraph of Markdown from a description with Ansible's markup."""
    marked = LINK.sub(r"`\1`", CODE.sub(r"`\1`", text))
    return textwrap.fill(marked, WIDTH, subsequent_indent=hang, break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    sys.exit(main())
