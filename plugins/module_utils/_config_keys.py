# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Overrides against the keys of a verl release, without verl and without Hydra.

The key table of a release is ``roles/ppo_training/files/config_keys/RELEASE.json``, written from verl's composed
configuration by ``tests/tools/make_config_keys.py``, which also describes its form. Which keys exist depends on the
options chosen for the config groups (``model_engine: megatron``), so a table is first narrowed to these: ``KeyTable``.

Keys of Hydra itself (``hydra.*``, ``hydra/*``) and keys below an option that the table does not know are not judged.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.rlops.verl.plugins.module_utils._hydra import (
    Override,
    OverrideError,
    is_group,
    is_within,
    render,
    type_name,
)
from ansible_collections.rlops.verl.plugins.module_utils._verdict import check

ENGINE = "model_engine"
MISSING = "???"
# What OmegaConf knows in the process that resolves verl's configuration; Hydra's own resolvers are not there.
RESOLVERS = {
    "oc.create",
    "oc.decode",
    "oc.deprecated",
    "oc.dict.keys",
    "oc.dict.values",
    "oc.env",
    "oc.select",
}

OK, UNKNOWN, NEEDS_PLUS, EXISTS, ABSENT, GROUP = "ok", "unknown", "needs-plus", "exists", "absent", "group"

_INTERPOLATION = re.compile(r"(\\*)\$\{\s*([^\s:{}$\[\]]*)\s*([:}])?")
_LOOKS_LIKE_NUMBER = re.compile(r"[+-]?(?:[0-9][0-9_]*\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_KINDS = {bool: "bool", int: "int", float: "float", str: "str", list: "list", tuple: "list", type(None): "null"}
_IN_WORDS = {
    "bool": "true or false",
    "dict": "a dictionary",
    "float": "a number",
    "int": "a whole number",
    "list": "a list",
    "null": "null",
    "str": "text",
}


class KeyTableError(ValueError):
    """A key table of another form."""


@dataclass(frozen=True)
class KeyTable:
    """The keys of one release for one choice of config groups."""

    release: str
    entries: dict[str, list[Any]]
    sections: frozenset[str]
    opaque: tuple[str, ...]
    document: Mapping[str, Any]
    choices: dict[str, str]

    @classmethod
    def of(cls, document: Mapping[str, Any], overrides: Mapping[str, Override]) -> KeyTable:
        """Narrow the document of a release to the groups that the overrides choose."""
        wanted = {"verl", "keys", "options", "choices", "groups", "open", "values", "moved", "ignored", "examples"}
        if not isinstance(document, Mapping) or not wanted <= set(document):
            raise KeyTableError(
                f"key table: found {sorted(document) if isinstance(document, Mapping) else type(document).__name__}, "
                f"wanted a dictionary with {', '.join(sorted(wanted))}. Write it with tests/tools/make_config_keys.py"
            )
        chosen = overrides.get(ENGINE)
        engine = chosen.value if chosen is not None and isinstance(chosen.value, str) else None
        if engine not in document["choices"]:
            engine = document["keys"][ENGINE][1]
        choices = dict(document["choices"][engine])
        opaque: list[str] = []
        for path, override in overrides.items():
            if path == ENGINE or not names_group(override, document):
                continue
            if override.prefix == "" and path in choices and isinstance(override.value, str):
                choices[path] = override.value
            else:
                opaque.append(package_of(path))
        entries = dict(document["keys"])
        for slot, options in document["options"].items():
            if choices[slot] in options:
                entries.update(options[choices[slot]])
            else:
                opaque.append(package_of(slot))
        present = [path for path, entry in entries.items() if len(entry) > 1]
        sections = frozenset(parent for path in present for parent in _parents(path))
        return cls(document["verl"], entries, sections, tuple(opaque), document, choices)

    def place(self, path: str) -> tuple[str, str]:
        """What is at a path, and the key or section that says so.

        ``key``, ``section``, ``item`` (of a list) exist. ``read`` is known to verl and not in its configuration,
        ``open`` lies in a section that takes any key, ``inside`` in a value that is no section, ``absent`` in a section
        that has no such key. ``opaque`` cannot be judged.
        """
        if is_hydra(path) or any(is_within(path, package) for package in self.opaque):
            return "opaque", path
        if path in self.entries:
            return ("key" if len(self.entries[path]) > 1 else "read"), path
        if path in self.sections:
            return "section", path
        for parent in _parents(path):
            if parent in self.sections:
                return ("open" if parent in self.document["open"] else "absent"), parent
            if parent in self.entries:
                default = self.default(parent)
                index, _point, below = path[len(parent) + 1 :].partition(".")
                if isinstance(default, list) and index.isdigit() and int(index) < len(default):
                    return ("inside", f"{parent}.{index}") if below else ("item", parent)
                # The default of an interpolated section belongs to another key: it has no children of its own.
                is_open = default is None or (default == {} and len(self.entries[parent]) < 3)
                return ("open" if is_open else "inside"), parent
        return "absent", ""

    def exists(self, path: str) -> bool:
        return self.place(path)[0] in ("key", "section", "item")

    def default(self, path: str) -> Any:
        """The default of a key; ``{}`` for sections, None for keys without a value."""
        if path in self.sections:
            return {}
        entry = self.entries.get(path, [""])
        if len(entry) == 3:
            for target in entry[2]:
                if target in self.sections or len(self.entries.get(target, [])) > 1:
                    return self.default(target)
        return None if len(entry) < 2 or entry[1] == MISSING else entry[1]

    def types(self, path: str) -> set[str]:
        """Names of the types a key takes; empty when any will do."""
        if path in self.sections:
            return {"dict"}
        types = set(self.entries[path][0].split("|")) if path in self.entries else {"any"}
        return set() if "any" in types else types

    def known(self) -> list[str]:
        """All keys and sections that are there to be set."""
        keys = [path for path, entry in self.entries.items() if len(entry) > 1 and not path.endswith("._target_")]
        return keys + sorted(self.sections)


def package_of(slot: str) -> str:
    """Where the option of a config group lands: ``actor_rollout_ref.actor`` of ``actor@actor_rollout_ref.actor``."""
    group, _at, package = slot.partition("@")
    return package or group.replace("/", ".")


def is_hydra(path: str) -> bool:
    """Whether a path belongs to Hydra's own configuration."""
    return is_within(path, "hydra") or path.startswith("hydra/")


def names_group(override: Override, document: Mapping[str, Any]) -> bool:
    """Whether Hydra takes an override for the choice of a config group's option."""
    if is_hydra(override.path):
        return False
    if is_group(override.path):
        return True
    return override.path in document["groups"] and not isinstance(override.value, Mapping)


def judge(override: Override, table: KeyTable) -> str:
    """What Hydra makes of an override: ``ok``, or why it would refuse it.

    ``unknown`` and ``needs-plus`` are the same to Hydra, which takes either with ``+``; they differ in whether verl
    reads the key. ``exists`` must not have ``+``, ``absent`` has nothing to delete, ``group`` is a wrong group choice.
    """
    if names_group(override, table.document):
        return OK if group_problem(override, table) is None else GROUP
    kind, parent = table.place(override.path)
    exists = kind in ("key", "section", "item")
    has_value = exists and (kind != "key" or table.default(override.path) is not None)
    if kind == "inside" and isinstance(table.default(parent), list):
        return ABSENT if override.prefix == "~" else UNKNOWN  # no prefix makes a list longer
    if kind == "opaque" or override.prefix == "++":
        return OK
    if override.prefix == "+":
        return EXISTS if has_value and not isinstance(override.value, (Mapping, list, tuple)) else OK
    if override.prefix == "~":
        return OK if has_value and kind != "item" else ABSENT
    if exists:
        return OK
    return NEEDS_PLUS if kind in ("open", "read") else UNKNOWN


def group_problem(override: Override, table: KeyTable) -> tuple[str, str] | None:
    """What is wrong with the choice of an option, as what is wanted and what to do."""
    group = override.path.partition("@")[0]
    options = table.document["groups"].get(group)
    slots = table.document["choices"][table.document["keys"][ENGINE][1]]
    if options is None:
        return f"one of the groups {', '.join(sorted(table.document['groups']))}", "Choose a group of verl"
    if override.prefix == "++":
        return "no prefix", "Hydra cannot force the choice of an option: remove ++"
    if override.prefix != "+" and override.path not in slots:
        places = [slot for slot in slots if slot.partition("@")[0] == group]
        return (f"one of {', '.join(places)}" if places else "another group"), (
            "verl chooses no option of this group there: an option can only be replaced where one is chosen"
        )
    if override.prefix == "+" and override.path in slots:
        return "no prefix", "An option is chosen there already: remove +"
    if override.prefix == "~":
        return ("another key", "verl derives other choices from it: replace it instead") if group == ENGINE else None
    values = override.value if isinstance(override.value, (list, tuple)) else [override.value]
    if not all(isinstance(value, str) and value in options for value in values) or not values:
        return f"one of {', '.join(options)}", "Choose one of these options"
    return None


def suggestions(path: str, table: KeyTable, limit: int = 3) -> list[str]:
    """Keys that may have been meant: the new name, else those that end alike, neighbours spelled alike, namesakes."""
    moved = _longest_prefix(path, table.document["moved"])
    if moved is not None:
        return [target + path[len(moved) :] for target in table.document["moved"][moved]]
    known = table.known()
    found = [candidate for candidate in known if candidate.endswith(f".{path}")]
    if not found:
        parent = next((parent for parent in _parents(path) if parent in table.sections), "")
        start = len(parent) + 1 if parent else 0
        below = {key[start:].partition(".")[0] for key in known if not parent or key.startswith(f"{parent}.")}
        close = difflib.get_close_matches(path[start:].partition(".")[0], sorted(below), n=limit, cutoff=0.75)
        found = [path[:start] + name for name in close]
    if not found:
        name = path.rpartition(".")[2]
        found = [candidate for candidate in known if candidate.rpartition(".")[2] == name]
        found = found or difflib.get_close_matches(path, known, n=limit, cutoff=0.85)
    alike = {candidate: difflib.SequenceMatcher(None, path, candidate).ratio() for candidate in found}
    return sorted(alike, key=lambda candidate: (-alike[candidate], candidate))[:limit]


def check_keys(overrides: Mapping[str, Override], table: KeyTable, variable: str) -> list[dict[str, Any]]:
    """Whether Hydra takes the overrides and verl uses them. At least one check of each name; problems one by one."""
    named = {
        "override-values": _values(overrides, variable),
        "override-groups": _groups(overrides, table, variable),
        "override-keys": _keys(overrides, table, variable),
        "override-prefixes": _prefixes(overrides, table, variable),
        "override-effects": _effects(overrides, table, variable),
        "override-types": _types(overrides, table, variable),
        "override-choices": _choices(overrides, table, variable),
        "override-interpolations": _interpolations(overrides, table, variable),
    }
    checks = []
    for name, problems in named.items():
        found = [check(name, False, **problem) for problem in problems]
        checks += found or [check(name, True, f"{len(overrides)} overrides", f"as verl {table.release} takes them")]
    return checks


def _values(overrides: Mapping[str, Override], variable: str) -> Iterator[dict[str, Any]]:
    for path, override in overrides.items():
        try:
            render(override.value, path)
        except OverrideError as error:
            remedy = f"{error.remedy} It is in {variable}."
            yield {"found": f"{error.path}: {error.found}", "wanted": error.wanted, "remedy": remedy}
        if any("\r" in text for text in _texts(override.value)):
            yield {
                "found": f"a carriage return in {path}",
                "wanted": "text without one",
                "remedy": f"Save the file with {variable} with Unix line ends.",
                "level": "warning",
            }


def _groups(overrides: Mapping[str, Override], table: KeyTable, variable: str) -> Iterator[dict[str, Any]]:
    for override in overrides.values():
        problem = group_problem(override, table) if names_group(override, table.document) else None
        if problem is not None:
            wanted, remedy = problem
            yield {"found": _shown(override), "wanted": wanted, "remedy": f"{remedy}, in {variable}."}


def _keys(overrides: Mapping[str, Override], table: KeyTable, variable: str) -> Iterator[dict[str, Any]]:
    for path, override in overrides.items():
        if judge(override, table) == UNKNOWN:
            near = suggestions(path, table)
            extra = f"If your own code reads it, write `+{path}`"
            remedy = f"In {variable} write {' or '.join(near)} instead. {extra}." if near else f"{extra} in {variable}."
            yield {"found": path, "wanted": f"a key of verl {table.release}", "remedy": remedy}


def _prefixes(overrides: Mapping[str, Override], table: KeyTable, variable: str) -> Iterator[dict[str, Any]]:
    for path, override in overrides.items():
        verdict = judge(override, table)
        if verdict == NEEDS_PLUS:
            kind, parent = table.place(path)
            why = f"{parent} has no such key yet" if kind == "open" else "verl reads it and its configuration lacks it"
            yield {"found": path, "wanted": f"+{path}", "remedy": f"Write `+{path}` in {variable}: {why}."}
        elif verdict == EXISTS:
            remedy = f"Write `{path}` in {variable}: the key exists, with the default {table.default(path)!r}."
            yield {"found": override.key, "wanted": path, "remedy": remedy}
        elif verdict == ABSENT:
            remedy = f"Remove `~{path}` from {variable}: verl {table.release} has no value there that could be deleted."
            yield {"found": override.key, "wanted": "a key that has a value", "remedy": remedy}


def _effects(overrides: Mapping[str, Override], table: KeyTable, variable: str) -> Iterator[dict[str, Any]]:
    told = set()
    for path, override in overrides.items():
        ignored = _longest_prefix(path, table.document["ignored"])
        if ignored is not None:
            targets = [target + path[len(ignored) :] for target in table.document["ignored"][ignored]]
            yield {
                "found": f"{path}, which verl {table.release} accepts and does not use",
                "wanted": " and ".join(targets),
                "remedy": f"Write {' and '.join(targets)} in {variable} instead.",
            }
        elif override.prefix in ("+", "++") and not names_group(override, table.document):
            kind, parent = table.place(path)
            if kind == "absent":
                # Of a whole section that was added, once.
                added = override.declared_at if table.place(override.declared_at)[0] == "absent" else path
                if added in told:
                    continue
                told.add(added)
                near = suggestions(added, table)
                yield {
                    "found": f"{override.prefix}{added}, which verl {table.release} does not know",
                    "wanted": " or ".join(near) or "a key that verl reads",
                    "remedy": f"Correct it in {variable}, unless your own code reads it: Hydra adds it, and verl "
                    "ignores or refuses it.",
                    "level": "warning",
                }
            elif kind == "inside":
                yield {
                    "found": f"{override.key} below {parent}, which is a value",
                    "wanted": "a key in a section",
                    "remedy": f"Hydra would put a section in the place of {parent}: correct it in {variable}.",
                }


def _types(overrides: Mapping[str, Override], table: KeyTable, variable: str) -> Iterator[dict[str, Any]]:
    for path, override in overrides.items():
        if override.prefix == "~" or names_group(override, table.document) or table.place(path)[0] == "opaque":
            continue
        types = table.types(path)
        problem = type_problem(override.value, types)
        if problem is not None:
            level, hint = problem
            yield {
                "found": f"{path}: {override.value!r} ({kind_of(override.value)})",
                "wanted": " or ".join(_IN_WORDS[name] for name in sorted(types)),
                "remedy": f"Change it in {variable}{hint}.",
                "level": level,
            }


def kind_of(value: object) -> str:
    if isinstance(value, Mapping):
        return "dict"
    return next((name for cls, name in _KINDS.items() if isinstance(value, cls)), type_name(value))


def type_problem(value: object, types: set[str]) -> tuple[str, str] | None:
    """Level and hint, if a value is of a type that a key does not take. Close calls are warnings."""
    kind = kind_of(value)
    if not types or kind in types or (kind == "int" and "float" in types):
        return None
    if isinstance(value, str):
        if "${" in value:
            return None
        if types & {"int", "float"} and _LOOKS_LIKE_NUMBER.fullmatch(value):
            return "error", ": without quotes, and with a point (YAML reads 1e-6 as text and 1.0e-6 as a number)"
        if "bool" in types and value.lower() in ("true", "false"):
            return "error", ": without quotes"
        if "null" in types and value.lower() in ("null", "none", "~", ""):
            return "error", ": null, without quotes"
        return "error", ""
    if kind == "null" or (kind == "float" and "int" in types) or (value in (0, 1) and "bool" in types):
        return "warning", ""
    return "error", ": with quotes" if "str" in types and kind in ("int", "float", "bool") else ""


def _choices(overrides: Mapping[str, Override], table: KeyTable, variable: str) -> Iterator[dict[str, Any]]:
    for path, allowed in table.document["values"].items():
        override = overrides.get(path)
        if override is None or override.prefix == "~":
            continue
        for value in override.value if isinstance(override.value, (list, tuple)) else [override.value]:
            if isinstance(value, str) and "${" not in value and value not in allowed:
                near = difflib.get_close_matches(value, allowed, n=1)
                yield {
                    "found": f"{path}: {value}",
                    "wanted": f"one of {', '.join(allowed)}",
                    "remedy": f"Write {near[0]} in {variable}." if near else f"Change it in {variable}.",
                }


def _interpolations(overrides: Mapping[str, Override], table: KeyTable, variable: str) -> Iterator[dict[str, Any]]:
    for path, override in overrides.items():
        for text in _texts(override.value):
            for problem in interpolation_problems(text, path, overrides, table):
                yield {
                    "found": f"{path}: {text}",
                    "wanted": "an interpolation that OmegaConf can resolve",
                    "remedy": f"{problem}, in {variable}.",
                }


def interpolation_problems(text: str, path: str, overrides: Mapping[str, Override], table: KeyTable) -> Iterator[str]:
    """What OmegaConf could not resolve in a text. It resolves on the node where verl's driver runs."""
    for match in _INTERPOLATION.finditer(text):
        slashes, name, end = match.groups()
        if len(slashes) % 2:
            yield "Write it without `${`: verl resolves its configuration twice, so that escaping does not last"
            continue
        if end is None and text[match.end() : match.end() + 1] in ("$", "[", "{"):
            continue  # ${a.${b}} and ${[a]}: only OmegaConf can tell
        if end is None or (end == ":" and "}" not in text[match.end() :]):
            yield "Close it with }"
        elif end == ":":
            if name not in RESOLVERS:
                yield f"Use one of {', '.join(sorted(RESOLVERS))} instead of {name}"
        elif not name:
            yield "Name a key in it"
        else:
            target = _absolute(name, path)
            known = table.exists(target) or table.place(target)[0] == "opaque"
            if not known and not any(is_within(given, target) or is_within(target, given) for given in overrides):
                near = suggestions(target, table)
                meant = f"${{{near[0]}}}" if near else f"${{oc.env:{name}}}"
                yield f"Write {meant}: the configuration has no key {target}"


def _absolute(name: str, path: str) -> str:
    """``..nnodes`` in trainer.v1.sync as trainer.nnodes: one point is the section of the key, each other one up."""
    relative = len(name) - len(name.lstrip("."))
    if not relative:
        return name
    parents = path.split(".")[:-relative] if relative <= path.count(".") + 1 else []
    return ".".join([*parents, name[relative:]])


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _texts(item)


def _parents(path: str) -> list[str]:
    """Parents of a path, the nearest first."""
    names = path.split(".")
    return [".".join(names[:length]) for length in range(len(names) - 1, 0, -1)]


def _longest_prefix(path: str, table: Mapping[str, Any]) -> str | None:
    return next((prefix for prefix in (path, *_parents(path)) if prefix in table), None)


def _shown(override: Override) -> str:
    return override.key if override.prefix == "~" else f"{override.key}: {override.value!r}"
