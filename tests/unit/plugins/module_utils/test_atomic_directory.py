# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from ansible_collections.rlops.verl.plugins.module_utils import _atomic_directory
from ansible_collections.rlops.verl.plugins.module_utils._wait import Timeout


def test_a_directory_is_filled_aside_and_published_whole(tmp_path):
    destination = str(tmp_path / "model")
    partial = _atomic_directory.make_partial(destination)
    assert _atomic_directory.leftovers(destination) == [partial]
    os.mkdir(f"{partial}/inner")
    for name in ("a", "inner/b"):
        with open(f"{partial}/{name}", "w") as file:
            file.write(name)
        os.chmod(f"{partial}/{name}", 0o600)
    umask = os.umask(0o027)
    try:
        _atomic_directory.settle(partial)
    finally:
        os.umask(umask)
    _atomic_directory.publish(partial, destination)
    assert _atomic_directory.leftovers(destination) == []
    found = _atomic_directory.files_below(destination)
    assert list(found) == ["a", "inner/b"]
    assert {status.st_mode & 0o777 for status in found.values()} == {0o640}


def test_publishing_never_replaces_what_is_there(tmp_path):
    destination = tmp_path / "model"
    destination.mkdir()
    (destination / "theirs").touch()
    partial = _atomic_directory.make_partial(str(destination))
    with pytest.raises(OSError, match="not empty"):
        _atomic_directory.publish(partial, str(destination))
    assert [path.name for path in destination.iterdir()] == ["theirs"]


def test_an_empty_directory_may_be_there(tmp_path):
    (tmp_path / "model").mkdir()
    partial = _atomic_directory.make_partial(str(tmp_path / "model"))
    _atomic_directory.publish(partial, str(tmp_path / "model"))
    assert not os.path.exists(partial)


def test_other_names_are_no_leftovers(tmp_path):
    for name in ("model", "model.partial", "model2.partial-1", "a.model.partial-1"):
        (tmp_path / name).mkdir()
    assert _atomic_directory.leftovers(str(tmp_path / "model")) == []
    assert _atomic_directory.leftovers(str(tmp_path / "absent" / "model")) == []


def test_only_one_holds_the_lock_and_nothing_is_left_of_it(tmp_path):
    destination = str(tmp_path / "model")
    with _atomic_directory.locked(destination, 0):
        with pytest.raises(Timeout), _atomic_directory.locked(destination, 0.1):
            pass
        assert os.path.exists(f"{destination}.lock")
    with _atomic_directory.locked(destination, 0):
        pass
    assert os.listdir(tmp_path) == []


def test_the_lock_of_a_dead_process_is_free_but_not_while_its_child_holds_it(tmp_path):
    destination = str(tmp_path / "model")
    code = (
        "import os, subprocess, sys\n"
        "from ansible_collections.rlops.verl.plugins.module_utils import _atomic_directory\n"
        "with _atomic_directory.locked(sys.argv[1], 0) as lock:\n"
        "    child = subprocess.Popen(['sleep', '600'], pass_fds=[lock], stdout=subprocess.DEVNULL)\n"
        "    print(child.pid, flush=True)\n"
        "    os._exit(9)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    answer = subprocess.run(
        [sys.executable, "-c", code, destination], env=environment, stdout=subprocess.PIPE, check=False
    )
    child = int(answer.stdout)
    try:
        with pytest.raises(Timeout), _atomic_directory.locked(destination, 0.1):
            pass
    finally:
        os.kill(child, 9)
    with _atomic_directory.locked(destination, 10):
        pass


def test_sha256(tmp_path):
    (tmp_path / "file").write_bytes(b"abc")
    assert _atomic_directory.sha256_of(str(tmp_path / "file")).startswith("ba7816bf")
