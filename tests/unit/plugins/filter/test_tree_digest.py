# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.rlops.verl.plugins.filter import tree_digest as tree_digest_file
from ansible_collections.rlops.verl.plugins.filter.tree_digest import tree_digest

TREE = {"z.py": "1", "a.py": "2", "pkg/b.py": "", "pkg/deep/c.txt": "é", "m.py": "4", "pkg.py": "5", "c.py": "6"}


def written(root: Path, files: dict[str, str]) -> str:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return str(root)


def test_a_tree_has_the_same_digest_everywhere(tmp_path):
    # In another form it would rename every environment that is in use.
    content = (
        b"a.py\x001\x002" b"c.py\x001\x006" b"m.py\x001\x004" b"pkg/b.py\x000\x00" b"pkg/deep/c.txt\x002\x00\xc3\xa9"
        b"pkg.py\x001\x005" b"z.py\x001\x001"
    )  # fmt: skip
    expected = hashlib.sha256(content).hexdigest()
    assert tree_digest(written(tmp_path / "a", TREE)) == expected
    assert tree_digest(written(tmp_path / "b", dict(reversed(TREE.items())))) == expected


@pytest.mark.parametrize(
    "change",
    [
        {"a.py": "20"},
        {"a.py": "", "b.py": "2"},
        {"new": ""},
        {"pkg/deep/.hidden": ""},
        {"buildings/x": "", "dist.py": ""},
    ],
)
def test_a_change_is_another_digest(tmp_path, change):
    before = tree_digest(written(tmp_path, TREE))
    assert tree_digest(written(tmp_path, change)) != before


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": "", "b": "x"}, {"a": "x", "b": ""}),
        ({"a": "bc"}, {"ab": "c"}),
        ({"a/b": ""}, {"ab": ""}),
        ({"a": "x", "b": "y"}, {"a": "xb\x00y"}),
    ],
)
def test_names_and_contents_are_told_apart(tmp_path, one, other):
    assert tree_digest(written(tmp_path / "1", one)) != tree_digest(written(tmp_path / "2", other))


@pytest.mark.parametrize(
    "name",
    ["__pycache__/a.pyc", "pkg/__pycache__/a.pyc", "build/lib/a.py", "dist/a.whl", "a.egg-info/PKG-INFO",
     ".pytest_cache/README.md"],
)  # fmt: skip
def test_what_python_leaves_behind_does_not_count(tmp_path, name):
    before = tree_digest(written(tmp_path, TREE))
    assert tree_digest(written(tmp_path, {name: "x"})) == before


def test_empty_directories_do_not_count(tmp_path):
    before = tree_digest(written(tmp_path, TREE))
    (tmp_path / "empty").mkdir()
    assert tree_digest(str(tmp_path)) == before


def test_what_lies_behind_a_link_counts(tmp_path):
    target, root = tmp_path / "target", tmp_path / "root"
    written(target, {"deep/a.py": "1"})
    written(root, TREE)
    (root / "link").symlink_to(target)
    assert tree_digest(str(root)) == tree_digest(written(tmp_path / "copy", {**TREE, "link/deep/a.py": "1"}))
    before = tree_digest(str(root))
    written(target, {"deep/a.py": "2"})
    assert tree_digest(str(root)) != before


@pytest.mark.parametrize("target", [".", "..", "../root/pkg", "self", "nowhere"])
def test_a_link_that_leads_back_or_nowhere_does_not_count(tmp_path, target):
    root = tmp_path / "root"
    before = tree_digest(written(root, TREE))
    place = root / "pkg" / ("self" if target == "self" else "link")
    place.symlink_to(target)
    assert tree_digest(str(root)) == before


def test_a_name_may_be_any_bytes(tmp_path):
    before = tree_digest(written(tmp_path, TREE))
    place = os.fsencode(tmp_path) + b"/caf\xe9"
    with open(place, "wb"):
        pass
    after = tree_digest(str(tmp_path))
    os.rename(place, place + b"\xe8")
    assert len({before, after, tree_digest(str(tmp_path))}) == 3


@pytest.mark.parametrize("name", ["absent", "file"])
def test_what_is_no_directory_is_an_error_of_the_filter(tmp_path, name):
    path = f"{written(tmp_path, {'file': ''})}/{name}"
    with pytest.raises(AnsibleFilterError) as caught:
        tree_digest(path)
    assert caught.value.message == f"tree_digest: found {path}, wanted a directory"


def test_the_example(example, tmp_path):
    digest = tree_digest(written(tmp_path / "files/package", TREE))
    assert example(tree_digest_file, role_path=str(tmp_path)) == {"msg": f"package-{digest}"}
