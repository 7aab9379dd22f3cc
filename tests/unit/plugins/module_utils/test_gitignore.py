# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import os
import shutil
import subprocess

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ansible_collections.rlops.verl.plugins.module_utils._gitignore import ignored, parse, parse_file

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is the oracle")

# Few characters, so that patterns meet names.
DIRECTORIES = ["d", "e", "d/d", "d/e", "d/e/d", "e/ab-d", "e/[d"]
NAMES = ["a", "b", "ab", "ba", "A", "a.b", "a-b", "!a", "#a", "[a]", "a b", "a ", "1", "a\\b"]
PARTS = st.lists(
    st.sampled_from(
        ["a", "b", "A", ".", "-", "1", "*", "?", "d", "e", "]", "\\a", "\\*", "\\[", "!", "#", " "]
        + ["[ab]", "[!a]", "[^b]", "[a-e]", "[]a]", "[a-]", "[--a]", "[b-a]", "[\\]a]", "[a"]
        + ["[[:alpha:]]", "[[:upper:]b]", "[[:x]", "[[:none:]]"]
    ),
    min_size=1,
    max_size=4,
).map("".join)
# "**" is special as a whole part only; where it is not, git itself is at odds with its documentation.
PATTERNS = st.builds(
    lambda sign, root, parts, end: sign + root + "/".join(parts) + end,
    st.sampled_from(["", "", "!", "\\", "#"]),
    st.sampled_from(["", "", "/"]),
    st.lists(st.one_of(PARTS.filter(lambda part: "**" not in part), st.just("**")), min_size=1, max_size=3),
    st.sampled_from(["", "", "/", " ", "\\ ", "\r"]),
)


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A git repository with a small tree; returns its path and all paths in it, directories with a slash."""
    root = tmp_path_factory.mktemp("tree")
    subprocess.run(["git", "init", "--quiet", str(root)], check=True)
    directories = [f"{path}/" for path in DIRECTORIES]
    files = [f"{directory}{name}" for directory in ["", *directories] for name in NAMES]
    for directory in directories:
        (root / directory).mkdir()
    for file in files:
        (root / file).touch()
    return root, sorted(directories + files)


def git_ignores(root, paths: list[str]) -> set[str]:
    # A slash at the end would be taken for a part of the name; git looks itself what is a directory.
    names = {path.rstrip("/"): path for path in paths}
    command = ["git", "-c", f"core.excludesFile={os.devnull}", "check-ignore", "--no-index", "--stdin", "-z"]
    answer = subprocess.run(command, cwd=root, input="\0".join(names), capture_output=True, text=True, check=False)
    assert answer.returncode in (0, 1), answer.stderr
    return {names[name] for name in answer.stdout.split("\0") if name}


def ours(patterns, paths: list[str]) -> set[str]:
    """What is out of a sorted listing: what is matched, and all that lies below a directory that is out."""
    out: set[str] = set()
    for path in paths:
        above = {path[: at + 1] for at, char in enumerate(path[:-1]) if char == "/"}
        if above & out or ignored(patterns, path.rstrip("/"), path.endswith("/")):
            out.add(path)
    return out


@needs_git
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(PATTERNS, min_size=1, max_size=4))
@example(lines=["d/**/a"])
@example(lines=["**/e/*", "!a"])
@example(lines=["/*", "!/e", "e/?"])
@example(lines=["?/", "!d/a"])
@example(lines=["d/*/***/b"])
@example(lines=["[[:alpha:][:digit:]]", "a[ ]"])
@example(lines=["[[:alpha:"])
@example(lines=["a\\\\b", "a\\"])
@example(lines=["/", "!", "!/", "//", "a//b"])
@example(lines=["d[/]a", "d?a", "d*a", "d[!b]a"])
def test_the_same_as_git(tree, lines):
    root, paths = tree
    text = "\n".join(lines) + "\n"
    (root / ".gitignore").write_text(text, newline="")
    assert ours(parse_file(text), paths) == git_ignores(root, paths)


@pytest.mark.parametrize(
    ("line", "path", "is_dir", "wanted"),
    [
        ("*.log", "deep/below/a.log", False, True),
        ("/*.log", "deep/a.log", False, None),
        ("/.git/", ".git", True, True),
        ("/.git/", ".git", False, None),
        ("data/raw", "data/raw", True, True),
        ("data/raw", "x/data/raw", True, None),
        ("**/raw", "x/data/raw", True, True),
        ("data/**", "data/a/b", False, True),
        ("data/**", "data", True, None),
        ("!keep", "x/keep", False, False),
        ("ü?", "üx", False, True),
        ("# comment", "# comment", False, None),
        ("[", "[", False, None),
    ],
)
def test_one_pattern(line, path, is_dir, wanted):
    assert ignored(parse([line]), path, is_dir) is wanted


def test_the_last_match_decides():
    patterns = parse(["*.py", "!a.py", "a.*"])
    assert ignored(patterns, "b.py", False) is True
    assert ignored(patterns, "a.py", False) is True
    assert ignored(patterns[:2], "a.py", False) is False


def test_a_byte_order_mark_and_windows_line_ends_are_no_part_of_a_pattern():
    patterns = parse_file("\ufeffa\r\nb\r\n\r\n")
    assert len(patterns) == 2
    assert ignored(patterns, "a", False) and ignored(patterns, "b", False)


@given(line=st.text(max_size=30), path=st.text(min_size=1, max_size=10))
def test_no_line_is_an_error(line, path):
    assert ignored(parse([line]), path, False) in (True, False, None)
