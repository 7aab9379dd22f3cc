# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Nested YAML overrides as exact Hydra 1.3 command line arguments.

The way is ``merge(defaults, user)`` or ``flatten(user)``, then ``to_arguments``::

    trainer: {nnodes: 2, experiment_name: "10"}        trainer.experiment_name='10'
    actor_rollout_ref.model:                           +actor_rollout_ref.model.override_config.attn_implementation=sdpa
      override_config: {+attn_implementation: sdpa}    trainer.nnodes=2

A value comes back from Hydra with the type and text it has in YAML. Two texts mean something to OmegaConf, which
reads the value after Hydra: ``${...}`` is an interpolation (``${trainer.project_name}``, ``${oc.env:HOME}``) and
``\\${...}`` is the literal ``${...}``. All other text is literal, ``$HOME`` and backslashes included.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

PREFIXES = ("++", "+", "~")

_MARKED = re.compile(r"(\+\+|\+|~)?(.*)", re.DOTALL)
# One component of DOT_PATH in Hydra's OverrideLexer.g4; an index into a list is the only other thing it takes.
_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]*")
_INDEX = re.compile(r"0|[1-9][0-9]*")
# group, group@package, group/sub@package
_ID = r"[A-Za-z_][A-Za-z0-9_-]*"
_GROUP = re.compile(rf"{_ID}(?:/{_ID})*(?:@{_ID}(?:\.{_ID})*)?")

# Words that need no quotes. The first character keeps numbers and signs out; Hydra gives the rest back unchanged.
_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./-]*")
_KEYWORD = re.compile(r"null|true|false|inf|nan", re.IGNORECASE)

# Keys of a dictionary inside a value cannot be quoted, only escaped, and the lexer knows no other characters.
_KEY_TEXT = re.compile(r"[A-Za-z0-9_/\\+.$%*@?|()\[\]{}:=, \t-]+")
_KEY_ESCAPED = re.compile(r"[\\()\[\]{}:=, \t]")
_DIGITS = r"(?:0|[1-9](?:_?[0-9])*)"
_POINT = rf"(?:{_DIGITS}\.|{_DIGITS}?\.[0-9](?:_?[0-9])*)"
_NUMBER = re.compile(rf"[+-]?(?:{_DIGITS}|{_POINT}|(?:{_DIGITS}|{_POINT})[eE][+-]?[0-9](?:_?[0-9])*|inf|nan)", re.I)


class OverrideError(ValueError):
    """An override that has no meaning or that Hydra cannot express."""

    def __init__(self, path: str, found: str, wanted: str, remedy: str) -> None:
        super().__init__(f"override {path}: found {found}, wanted {wanted}. {remedy}")
        self.path, self.found, self.wanted, self.remedy = path, found, wanted, remedy


@dataclass(frozen=True)
class Override:
    """One Hydra override.

    ``path`` is the dotted path (or ``group@package``), ``prefix`` one of ``""``, ``+``, ``++``, ``~``. ``declared_at``
    is the path of the key that carries the prefix: in ``+rope_scaling: {factor: 2}`` the whole of ``rope_scaling`` is
    added, which matters when a later layer deletes it.
    """

    path: str
    prefix: str
    value: Any
    declared_at: str

    @property
    def key(self) -> str:
        return self.prefix + self.path


def flatten(overrides: Mapping[Any, Any]) -> dict[str, Override]:
    """Nested overrides by dotted path, sorted by path.

    - Dotted keys are the same as nested ones. Empty dictionaries and lists are values.
    - ``+``, ``++`` or ``~`` may stand before any component and then holds for everything below it.
    - ``~path`` takes no value (null).
    - ``group@package: option`` and ``group/sub: option`` select an option of a config group, at the top level only.

    Raises OverrideError for keys that are not text or not possible in Hydra, two different prefixes in one path, a path
    that is given twice, and a path that has a value and also children.
    """
    found: dict[str, Override] = {}
    for override in _walk(overrides, "", "", ""):
        if override.path in found:
            raise OverrideError(
                override.path,
                f"it twice, as {found[override.path].key} and {override.key}",
                "it once",
                "Remove one of them.",
            )
        found[override.path] = override
    for path, override in found.items():
        for parent in _ancestors(path):
            if parent in found:
                raise OverrideError(
                    parent,
                    f"a value at {found[parent].key} and a key below it, {override.key}",
                    "one or the other",
                    "Remove one of them.",
                )
    return dict(sorted(found.items()))


def merge(*layers: Mapping[Any, Any]) -> dict[str, Override]:
    """Layers of nested overrides as one, the last one winning; the result is like that of ``flatten``.

    1. A later override takes the place of an earlier one at the same path, whatever the prefixes: what is written last,
       prefix included, is what Hydra gets.
    2. It also takes the place of everything an earlier layer puts below it, or has put above it as a value. A
       dictionary is not a value (its keys merge one by one) unless it is empty, so ``path: {}`` in a later layer drops
       what earlier layers set below ``path``; a list is replaced whole.
    3. ``~path`` in a later layer drops what earlier layers put at ``path`` or below, and stays as a deletion, unless an
       earlier layer had added ``path`` itself, or one of its parents, with ``+``: then the configuration has no such
       key and there is nothing to delete. ``++`` says nothing about that, so the deletion stays.
    """
    merged: dict[str, Override] = {}
    for layer in layers:
        later = flatten(layer)
        for override in later.values():
            replaced = [
                earlier
                for path, earlier in merged.items()
                if is_within(path, override.path) or is_within(override.path, path)
            ]
            for earlier in replaced:
                del merged[earlier.path]
            undone = any(e.prefix == "+" and is_within(override.path, e.declared_at) for e in replaced)
            if not (override.prefix == "~" and undone):
                merged[override.path] = override
    return dict(sorted(merged.items()))


def to_mapping(overrides: Mapping[str, Override]) -> dict[str, Any]:
    """Plain data that ``flatten`` reads back to the same overrides: one key for each prefix that was written."""
    mapping: dict[str, Any] = {}
    for override in overrides.values():
        if not override.prefix or override.declared_at == override.path:
            mapping[override.key] = override.value
        else:
            below = mapping.setdefault(override.prefix + override.declared_at, {})
            below[override.path[len(override.declared_at) + 1 :]] = override.value
    return mapping


def to_arguments(overrides: Mapping[str, Override]) -> list[str]:
    """The arguments for Hydra's command line, sorted by path; not quoted for a shell (``shlex.join`` does that)."""
    return [
        override.key if override.prefix == "~" else f"{override.key}={render(override.value, path)}"
        for path, override in sorted(overrides.items())
    ]


def render(value: Any, path: str) -> str:
    """One value in Hydra's grammar, such that Hydra reads it back with the same type.

    Raises OverrideError naming ``path`` for types that YAML knows and Hydra does not, and for impossible text.
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        return float.__repr__(value)
    if isinstance(value, str):
        return _render_text(value, path)
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(render(item, f"{path}[{position}]") for position, item in enumerate(value)) + "]"
    if isinstance(value, Mapping):
        pairs = (f"{_render_key(key, path)}:{render(item, f'{path}.{key}')}" for key, item in value.items())
        return "{" + ",".join(pairs) + "}"
    raise OverrideError(
        path,
        f"a value of the type {type_name(value)}",
        "null, a boolean, a number, text, a list or a dictionary",
        "Quote the value in YAML (an unquoted 2026-01-31 is a date).",
    )


def type_name(value: object) -> str:
    """Name of a type; ``date`` for Ansible's ``_AnsibleTaggedDate``."""
    return next(cls.__name__ for cls in type(value).__mro__ if not cls.__name__.startswith("_"))


def is_within(path: str, parent: str) -> bool:
    """Whether ``path`` is ``parent`` or lies below it."""
    return path == parent or (path.startswith(parent + ".") and not is_group(path))


def is_group(path: str) -> bool:
    """Whether a path can only be the name of a config group."""
    return "@" in path or "/" in path


def _walk(overrides: object, parent: str, prefix: str, declared_at: str) -> Iterator[Override]:
    if not isinstance(overrides, Mapping):
        raise OverrideError("at the top", f"a value of the type {type_name(overrides)}", "a dictionary", "Write keys.")
    for key, value in overrides.items():
        if not isinstance(key, str):
            raise OverrideError(
                parent or "at the top",
                f"the key {key!r} of the type {type_name(key)}",
                "text",
                "Quote it in YAML (an unquoted on, off, yes or no is a boolean, 10 is a number).",
            )
        name, here = _split_key(key, parent, prefix)
        path = f"{parent}.{name}" if parent else name
        # The outermost key that carries the prefix says what is added or deleted as a whole.
        at = declared_at if prefix else path if here else ""
        if isinstance(value, Mapping) and value and not is_group(path):
            yield from _walk(value, path, here, at)
            continue
        if here == "~" and value is not None:
            raise OverrideError(
                f"~{path}", f"the value {value!r}", "none, as ~ deletes the key", f"Write `~{path}: null`."
            )
        yield Override(path, here, value, at or path)


def _split_key(key: str, parent: str, prefix: str) -> tuple[str, str]:
    """Key without prefixes, and the one prefix that holds for it."""
    mark, bare = _MARKED.fullmatch(key).groups()  # type: ignore[union-attr]
    if is_group(bare) and _GROUP.fullmatch(bare):
        if parent:
            raise OverrideError(parent, f"the config group {key!r} below it", "it at the top level", "Move it there.")
        return bare, mark or ""
    written = f"{parent}.{key}" if parent else key
    names: list[str] = []
    for component in key.split("."):
        mark, name = _MARKED.fullmatch(component).groups()  # type: ignore[union-attr]
        if mark and prefix and mark != prefix:
            raise OverrideError(
                written,
                f"the prefixes {prefix} and {mark} in one path",
                "one",
                "Write it once, before the first component it is meant for.",
            )
        prefix = prefix or mark or ""
        is_first = not parent and not names
        if not (_NAME.fullmatch(name) or (_INDEX.fullmatch(name) and not is_first)):
            raise OverrideError(
                written,
                f"the key {name!r}",
                "letters, digits, _, - and $, the first one no digit and no -",
                "Rename it: Hydra takes no other keys.",
            )
        names.append(name)
    return ".".join(names), prefix


def _ancestors(path: str) -> Iterator[str]:
    if is_group(path):
        return
    names = path.split(".")
    for length in range(1, len(names)):
        yield ".".join(names[:length])


def _render_text(text: str, path: str) -> str:
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise OverrideError(path, repr(text), "text without NUL and without lone surrogates", "Remove the character.")
    if text == "???":
        raise OverrideError(path, "'???'", "another text", "Leave it out: OmegaConf takes it for a missing value.")
    if _PLAIN.fullmatch(text) and not _KEYWORD.fullmatch(text):
        return text
    # Hydra unescapes backslashes only before a quote, the closing one included; everywhere else they are literal.
    escaped = re.sub(r"\\+(?='|\Z)", lambda run: run[0] * 2, text).replace("'", "\\'")
    return f"'{escaped}'"


def _render_key(key: object, path: str) -> str:
    if not isinstance(key, str):
        raise OverrideError(
            path, f"the key {key!r} of the type {type_name(key)} in a dictionary", "text", "Quote it in YAML."
        )
    if not _KEY_TEXT.fullmatch(key) or _NUMBER.fullmatch(key) or _KEYWORD.fullmatch(key):
        raise OverrideError(
            path,
            f"the key {key!r} in a dictionary in a list",
            "ASCII letters, digits, spaces and _/-\\+.$%*@?|()[]{}:=, only, and no number, null, true or false",
            "Rename it: Hydra cannot express other keys there.",
        )
    return _KEY_ESCAPED.sub(lambda special: "\\" + special[0], key)
