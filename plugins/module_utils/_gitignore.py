# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Patterns in the form of ``.gitignore`` files, see https://git-scm.com/docs/gitignore (Pattern format)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

# Of the C locale, as git has them.
_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": r" \t",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r" \t\n\r\f\v",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}


@dataclass(frozen=True)
class Pattern:
    """One line: which paths it is about, and whether it takes them out or (``!``) back in."""

    regex: re.Pattern[str]
    negated: bool
    directories_only: bool

    def matches(self, path: str, is_dir: bool) -> bool:
        return (is_dir or not self.directories_only) and self.regex.fullmatch(path) is not None


class _NeverMatches(ValueError):
    """A pattern without an end, such as ``[a`` or ``a\\``. Git lets it match nothing."""


def parse(lines: Iterable[str]) -> list[Pattern]:
    """The patterns of some lines, without line ends. Comments, blank lines and what can match nothing are left out."""
    return [pattern for pattern in map(parse_line, lines) if pattern is not None]


def parse_file(text: str) -> list[Pattern]:
    """The patterns of a whole file."""
    lines = text[1:].split("\n") if text.startswith("\ufeff") else text.split("\n")
    return parse(line[:-1] if line.endswith("\r") else line for line in lines)


def parse_line(line: str) -> Pattern | None:
    if line.startswith("#"):
        return None
    text = _without_trailing_spaces(line)
    negated = text.startswith("!")
    text = text[negated:]
    directories_only = text.endswith("/")
    text = text[: len(text) - directories_only]
    anchored = "/" in text
    text = text[text.startswith("/") :]
    if not text:
        return None
    try:
        regex = _translate(text, anchored)
    except _NeverMatches:
        return None
    return Pattern(re.compile(regex if anchored else f"(?:.*/)?{regex}", re.DOTALL), negated, directories_only)


def ignored(patterns: Sequence[Pattern], path: str, is_dir: bool) -> bool | None:
    """Whether a path is taken out (True) or back in (False); None when no pattern is about it.

    ``path`` is relative to where the patterns are written, with ``/`` between its parts. The last pattern that matches
    decides. That nothing comes back in below a directory that is out, is up to the caller, who does not look there.
    """
    for pattern in reversed(patterns):
        if pattern.matches(path, is_dir):
            return not pattern.negated
    return None


def _without_trailing_spaces(line: str) -> str:
    stripped = line.rstrip(" ")
    backslashes = len(stripped) - len(stripped.rstrip("\\"))
    # An odd number of them: the last one stands for the space behind it.
    return line[: len(stripped) + 1] if backslashes % 2 and len(line) > len(stripped) else stripped


def _translate(text: str, anchored: bool) -> str:
    """A pattern without its ``!`` and outer slashes as a regular expression."""
    regex, position = "", 0
    while position < len(text):
        char = text[position]
        if char == "*":
            end = position
            while text[end : end + 1] == "*":
                end += 1
            whole_part = (position == 0 or text[position - 1] == "/") and text[end : end + 1] in ("", "/")
            if anchored and whole_part and end - position > 1:
                # Any number of directories, none too.
                regex += "(?:.*/)?" if end < len(text) else ".*"
                end += end < len(text)
            else:
                regex += "[^/]*"
            position = end
        elif char == "?":
            regex += "[^/]"
            position += 1
        elif char == "[":
            part, position = _translate_set(text, position + 1)
            regex += part
        elif char == "\\":
            if position + 1 == len(text):
                raise _NeverMatches
            regex += re.escape(text[position + 1])
            position += 2
        else:
            regex += re.escape(char)
            position += 1
    return regex


def _translate_set(text: str, position: int) -> tuple[str, int]:
    """A set such as ``[a-z]``, from behind its bracket, as a regular expression, and the position behind it."""

    def char(at: int) -> str:
        if at >= len(text):
            raise _NeverMatches
        return text[at]

    negated = char(position) in "!^"
    position += negated
    members, low, first = "", "", True
    while first or char(position) != "]":
        first, current = False, char(position)
        if current == "-" and low and char(position + 1) != "]":
            position += 1 + (char(position + 1) == "\\")
            high = char(position)
            if low <= high:
                members += f"{re.escape(low)}-{re.escape(high)}"
            low = ""
        elif current == "[" and char(position + 1) == ":" and _class_end(text, position):
            end = _class_end(text, position)
            name = text[position + 2 : end - 1]
            if name not in _CLASSES:
                raise _NeverMatches
            members += _CLASSES[name]
            position, low = end, ""
        else:
            position += current == "\\"
            low = char(position)
            members += re.escape(low)
        position += 1
    if negated:
        return f"[^/{members}]", position + 1
    return (f"(?!/)[{members}]" if members else "(?!)"), position + 1


def _class_end(text: str, position: int) -> int:
    """Position of the ``]`` of a ``[:name:]`` that starts here, 0 when it is none."""
    end = text.find("]", position + 2)
    if end < 0:
        raise _NeverMatches
    return end if end > position + 2 and text[end - 1] == ":" else 0
