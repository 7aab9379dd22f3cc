# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import io
import os
import shutil
import socket
import subprocess
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.rlops.verl.plugins.module_utils import _working_dir
from ansible_collections.rlops.verl.plugins.module_utils._working_dir import (
    archive_size,
    heaviest,
    is_directory,
    prepare,
    read,
    shadowing,
    size_check,
    standard_library,
)
from ansible_collections.rlops.verl.plugins.module_utils._working_dir_files import Member, WorkingDirError, scan

MIB = 1024**2


def write(root, *paths: str, content: str = "x") -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content)


def listed(root, excludes=()) -> list[str]:
    return [member.path for member in scan(str(root), excludes)]


def named(checks: list[dict], name: str) -> dict:
    return next(item for item in checks if item["name"] == name)


def member(path: str, size: int = 0) -> Member:
    return Member(path, f"/{path}", 0o644, size)


# ---- Which files


def test_files_below_and_empty_directories(tmp_path):
    write(tmp_path, "b.py", "a/c.py", "a/d/e.txt", ".hidden")
    (tmp_path / "empty/below").mkdir(parents=True)
    assert listed(tmp_path) == [".hidden", "a/c.py", "a/d/e.txt", "b.py", "empty/below/"]


def test_what_ray_never_sends(tmp_path):
    write(tmp_path, ".git/config", ".venv/a", "venv/a", "a/__pycache__/m.pyc", "a/venv/b", "a/m.py")
    assert listed(tmp_path) == ["a/m.py"]
    assert listed(tmp_path, ["!venv"]) == ["a/m.py", "a/venv/b", "venv/a"]


def test_excludes_and_files_with_patterns_in_their_order(tmp_path):
    write(tmp_path, "data/a.bin", "data/b.bin", "out/a.log", "out/b.log", "c.tmp", "sub/c.tmp")
    (tmp_path / ".gitignore").write_text("/data/\n*.log\n*.tmp\n")
    (tmp_path / ".rayignore").write_text("!/data/\n")
    (tmp_path / "sub/.gitignore").write_text("!*.tmp\n")
    own = [".gitignore", ".rayignore"]
    assert listed(tmp_path) == [*own, "data/a.bin", "data/b.bin", "sub/.gitignore", "sub/c.tmp"]
    assert listed(tmp_path, ["sub", "a.bin", "!a.log"]) == [*own, "data/b.bin", "out/a.log"]


def test_an_ignore_file_that_is_a_directory_has_no_patterns(tmp_path):
    write(tmp_path, ".gitignore/a", "a")
    assert listed(tmp_path) == [".gitignore/a", "a"]


def test_a_directory_with_everything_excluded_is_not_made(tmp_path):
    write(tmp_path, "logs/a.log", "a.py")
    assert listed(tmp_path, ["*.log"]) == ["a.py"]


@pytest.mark.skipif(shutil.which("git") is None, reason="git is the oracle")
@settings(max_examples=150)
@given(
    st.fixed_dictionaries(
        {
            where: st.lists(
                st.sampled_from(
                    ["a", "b", "d", "/a", "d/", "d/a", "!a", "!b", "!d", "!/d/a", "*", "!*/", "d/*", "**/b"]
                ),
                max_size=3,
            )
            for where in ("given", "", "d/", "d/d/")
        }
    )
)
def test_precedence_is_gits(tmp_path_factory, patterns):
    root = tmp_path_factory.mktemp("tree")
    write(root, *(f"{folder}{name}" for folder in ("", "d/", "d/d/", "e/d/") for name in "abc"))
    given = patterns.pop("given")
    for folder, lines in patterns.items():
        if lines:
            (root / folder / ".gitignore").write_text("\n".join(lines))
    # Its own folder lies elsewhere: git never lists it, and "!*/" would send it.
    repository = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "--quiet", "--separate-git-dir", str(repository), str(root)], check=True)
    (root / ".git").unlink()
    options = ["--exclude-per-directory=.gitignore", *(f"--exclude={pattern}" for pattern in given)]
    command = ["git", f"--git-dir={repository}", f"--work-tree={root}", "ls-files", "-z", "--others", *options]
    answer = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, text=True, check=True)
    assert listed(root, given) == sorted(filter(None, answer.stdout.split("\0")))
    shutil.rmtree(root)
    shutil.rmtree(repository)


def test_links_are_followed_and_what_is_no_file_is_left_out(tmp_path):
    root = tmp_path / "root"
    write(tmp_path, "outside/a.py", content="linked")
    write(root, "b.py")
    (root / "linked").symlink_to(tmp_path / "outside")
    (root / "c.py").symlink_to("b.py")
    (root / "nowhere").symlink_to("absent")
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(root / "socket"))
        package = read(scan(str(root), []))
    assert [item.path for item in package.members] == ["b.py", "c.py", "linked/a.py"]
    assert package.contents[2] == b"linked"
    assert listed(root, ["linked/"]) == ["b.py", "c.py"]


def test_a_link_to_a_directory_around_it_is_refused_unless_excluded(tmp_path):
    write(tmp_path, "a/b/c.py")
    (tmp_path / "a/b/up").symlink_to("../..")
    message = r"found a/b/up, a link to .* Remove the link, or .*ppo_training_excludes"
    with pytest.raises(WorkingDirError, match=message):
        scan(str(tmp_path), [])
    assert listed(tmp_path, ["up"]) == ["a/b/c.py"]


@pytest.mark.parametrize("name", ["a\\b", "c:d", "\udcff"])
def test_names_that_would_not_arrive_are_refused(tmp_path, name):
    write(tmp_path, "a.py")
    with open(os.path.join(tmp_path, name), "w", encoding="utf-8"):
        pass
    with pytest.raises(WorkingDirError, match="Rename it, or exclude it with ppo_training_excludes"):
        scan(str(tmp_path), [])
    assert listed(tmp_path, ["*", "!a.py"]) == ["a.py"]


@pytest.mark.parametrize(
    ("path", "reason"), [("code", "a relative path"), ("{}/absent", "does not exist"), ("{}/file", "is no directory")]
)
def test_no_directory(tmp_path, path, reason):
    write(tmp_path, "file")
    path = path.format(tmp_path)
    checks, package = prepare(path, [])
    assert package is None
    (item,) = checks
    assert (item["name"], item["ok"], item["level"]) == ("working-dir", False, "error")
    assert path in item["found"] and reason in item["found"]
    assert "ppo_training_working_dir" in item["remedy"]


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    write(tmp_path, "a.py")
    # Nobody can read the first byte of it, not even root.
    (tmp_path / "memory").symlink_to("/proc/self/mem")
    checks, package = prepare(str(tmp_path), [])
    assert package is None
    assert "memory, which cannot be read" in checks[0]["found"]
    assert prepare(str(tmp_path), ["memory"])[1] is not None


@pytest.mark.parametrize(
    ("working_dir", "answer"),
    [("/srv/code", True), ("code", True), ("", False), (None, False), ("s3://b/c.zip", False), ("local:///a", False)],
)
def test_addresses_are_no_directories(working_dir, answer):
    assert is_directory(working_dir) is answer


# ---- The package

NAMES = st.text(st.sampled_from("abü. -_"), min_size=1, max_size=6).filter(lambda name: name.strip(". ") != "")
TREES = st.dictionaries(NAMES, st.tuples(st.binary(max_size=50), st.sampled_from([0o644, 0o755, 0o600])), max_size=5)


def make(root, tree, order) -> None:
    for name in sorted(tree, reverse=order):
        content, mode = tree[name]
        (root / "d").mkdir(parents=True, exist_ok=True)
        (root / "d" / name).write_bytes(content)
        (root / "d" / name).chmod(mode)


@given(tree=TREES)
def test_equal_directories_are_equal_packages(tmp_path_factory, tree):
    first, second = tmp_path_factory.mktemp("first"), tmp_path_factory.mktemp("second")
    make(first, tree, False)
    make(second, tree, True)
    for name in tree:
        os.utime(second / "d" / name, (10**9, 10**9))
    one, two = read(scan(str(first), [])), read(scan(str(second), []))
    assert one.uri == two.uri
    assert one.archive() == two.archive()
    assert len(one.archive()) == archive_size(one.members)
    with zipfile.ZipFile(io.BytesIO(one.archive())) as archive:
        found = {info.filename: (archive.read(info), info.external_attr >> 16 & 0o777) for info in archive.infolist()}
    assert found == {f"d/{name}": value for name, value in tree.items()}


def test_what_changes_the_digest(tmp_path):
    def digest() -> str:
        return read(scan(str(tmp_path), ["*.log"])).digest

    write(tmp_path, "a.py", "b.py")
    seen = [digest()]
    assert len(seen[0]) == 32

    write(tmp_path, "a.log")
    os.utime(tmp_path / "a.py", (1, 1))
    assert digest() == seen[0]

    write(tmp_path, "a.py", content="y")
    seen.append(digest())
    (tmp_path / "a.py").chmod(0o755)
    seen.append(digest())
    (tmp_path / "b.py").rename(tmp_path / "c.py")
    seen.append(digest())
    (tmp_path / "empty").mkdir()
    seen.append(digest())
    assert len(set(seen)) == len(seen)


def test_the_border_between_name_and_content_counts():
    def package(*files: tuple[str, bytes]) -> _working_dir.Package:
        return _working_dir.Package([member(path) for path, _content in files], [content for _path, content in files])

    assert package(("a", b"bc")).digest != package(("ab", b"c")).digest
    assert package(("a", b"b"), ("c", b"")).digest != package(("a", b""), ("c", b"b")).digest


def test_the_name_is_rays(tmp_path):
    write(tmp_path, "a.py")
    package = read(scan(str(tmp_path), []))
    assert package.uri == f"gcs://_ray_pkg_{package.digest}.zip" == f"gcs://{package.name}"


# ---- The checks


def test_a_good_directory(tmp_path):
    write(tmp_path, "reward.py", "data/a.json")
    checks, package = prepare(str(tmp_path), ["/data/"])
    assert [item["name"] for item in checks] == ["working-dir", "working-dir-size", "working-dir-modules"]
    assert all(item["ok"] for item in checks)
    assert "1 file," in checks[1]["found"]
    assert [item.path for item in package.members] == ["reward.py"]


def test_nothing_to_send_is_a_warning(tmp_path):
    write(tmp_path, "a.py")
    checks, package = prepare(str(tmp_path), ["*"])
    item = named(checks, "working-dir")
    assert not item["ok"] and item["level"] == "warning"
    assert "no files" in item["found"] and "ppo_training_excludes" in item["remedy"]
    assert package.members == []


def test_too_large(tmp_path):
    write(tmp_path, "a.py")
    (tmp_path / "data/raw").mkdir(parents=True)
    with open(tmp_path / "data/raw/train.bin", "wb") as file:
        file.truncate(150 * MIB)  # has no blocks on the disk
    checks, package = prepare(str(tmp_path), [])
    assert package is None
    item = named(checks, "working-dir-size")
    assert not item["ok"] and item["level"] == "error"
    assert "2 files, 150.0 MiB" in item["found"] and "data/raw/train.bin 150.0 MiB" in item["found"]
    assert "at most 100.0 MiB" in item["wanted"]
    assert "ppo_training_excludes" in item["remedy"] and "'/data/raw/train.bin'" in item["remedy"]
    assert prepare(str(tmp_path), ["/data/raw/train.bin"])[1] is not None


def test_the_limit_is_that_of_the_whole_package():
    files = [member("a", 1000)]
    size = archive_size(files)
    assert size > 1000
    assert size_check("/d", files, size)["ok"]
    assert not size_check("/d", files, size - 1)["ok"]


def test_the_largest_parts_are_named_as_narrowly_as_they_say_it():
    files = [member("a/b/one", 95), member("a/b/two", 1), member("a/c", 1), member("d/x", 30), member("d/y", 40)]
    assert heaviest([*files, member("e", 5), member("f", 1)]) == [("a/b/one", 95), ("d/", 70), ("e", 5)]
    assert heaviest([]) == []


SIZES = st.dictionaries(st.lists(st.sampled_from("ab"), min_size=1, max_size=4).map("/".join), st.integers(0, 99))


@given(SIZES)
def test_the_largest_parts_are_parts(tree):
    # A name is a file or a directory.
    files = [member(path, size) for path, size in tree.items() if not any(p.startswith(f"{path}/") for p in tree)]
    parts = heaviest(files)
    for name, size in parts:
        inside = [item for item in files if item.path == name or (name[-1] == "/" and item.path.startswith(name))]
        assert size == sum(item.size for item in inside)
    assert sum(size for _name, size in parts) <= sum(item.size for item in files)
    assert bool(parts) == bool(files)


def test_modules_that_are_found_in_place_of_others():
    files = ["types.py", "logging/__init__.py", "torch/__init__.py", "verl/__init__.py"]
    files += ["ray.cpython-311-x86_64-linux-gnu.so"]
    files += ["reward.py", "my/types.py", "types.txt", "json/data.json", "numpy/", "verl.yaml", "queue"]
    assert shadowing([member(path) for path in files], standard_library()) == [
        "logging/",
        "ray.cpython-311-x86_64-linux-gnu.so",
        "torch/",
        "types.py",
        "verl/",
    ]


def test_such_modules_are_a_warning(tmp_path):
    write(tmp_path, "types.py", "reward.py")
    checks, package = prepare(str(tmp_path), [])
    item = named(checks, "working-dir-modules")
    assert not item["ok"] and item["level"] == "warning"
    assert item["found"] == "types.py" and "ppo_training_excludes" in item["remedy"]
    assert package is not None


def test_python_does_take_such_a_module(tmp_path):
    """What the warning is about: the process does not even start."""
    write(tmp_path, "types.py")
    python = shutil.which("python3")
    environment = {"PYTHONPATH": str(tmp_path)}
    answer = subprocess.run([python, "-c", "import enum"], env=environment, capture_output=True, check=False)
    assert answer.returncode != 0
