# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The module as Ansible runs it, on real files, with a small program in the place of verl's interpreter."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from ansible.module_utils.testing import patch_module_args

from ansible_collections.rlops.verl.plugins.module_utils import _atomic_directory, _checkpoint_merge
from ansible_collections.rlops.verl.plugins.module_utils._wait import wait_for
from ansible_collections.rlops.verl.plugins.modules import verl_checkpoint_merge
from ansible_collections.rlops.verl.tests.unit import fake_checkpoint


class Place:
    """A checkpoint, a destination and a merger."""

    def __init__(self, root: Path):
        self.root = root
        self.source = fake_checkpoint.run(root / "run", [4]) / "global_step_4" / "actor"
        self.dest = root / "models" / "global_step_4" / "actor"
        self.python = fake_checkpoint.fake_merger(root)

    def arguments(self, behaviour: str = "good", **changes: object) -> dict:
        env = {"FAKE_MERGER": behaviour, "FAKE_PID": str(self.root / "pid")}
        return {
            "source": str(self.source), "dest": str(self.dest), "python": str(self.python), "env": env,
            "host": "node-a", **changes,
        }  # fmt: skip

    @property
    def beside(self) -> set[str]:
        """Everything in the parent of the destination."""
        return {path.name for path in self.dest.parent.iterdir()} if self.dest.parent.exists() else set()


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


@pytest.fixture
def merge(place, capsys):
    """Run the module; returns its answer."""

    def call(behaviour: str = "good", **changes: object) -> dict:
        capsys.readouterr()
        with patch_module_args(place.arguments(behaviour, **changes)), pytest.raises(SystemExit):
            verl_checkpoint_merge.main()
        return json.loads(capsys.readouterr().out)

    handler = signal.getsignal(signal.SIGTERM)
    yield call
    signal.signal(signal.SIGTERM, handler)


def test_merge_and_again(place, merge):
    first = merge()
    assert first["changed"]
    assert (first["step"], first["component"], first["dest"]) == (4, "actor", str(place.dest))
    assert place.beside == {"actor", "actor.merge.log"}
    assert "merged with 1 '' True" in Path(first["log_path"]).read_text()
    manifest = json.loads((place.dest / "rlops_merge.json").read_text())
    assert manifest == first["manifest"]
    assert manifest["versions"]["verl"] == "0.9.1"
    assert {item["path"] for item in manifest["files"]} == {
        "model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json"
    }  # fmt: skip
    assert [item["name"] for item in manifest["source_shards"]] == [f"model_world_size_2_rank_{r}.pt" for r in (0, 1)]
    assert "file: model.safetensors" in first["diff"]["after"]
    assert (place.dest / "model.safetensors").stat().st_mode & 0o044 == 0o044, "others may read it"

    before = place.dest.stat().st_mtime_ns
    again = merge("this would fail")
    assert not again["changed"]
    assert again["digest"] == first["digest"]
    assert again["diff"]["before"] == again["diff"]["after"]
    assert place.dest.stat().st_mtime_ns == before


def test_check_mode_says_what_would_come_and_changes_nothing(place, merge):
    would = merge(_ansible_check_mode=True)
    assert would["changed"]
    assert would["diff"]["before"] == ""
    assert "global_step_4/actor, merged by verl" in would["diff"]["after"]
    assert not place.dest.parent.exists()
    done = merge()
    assert done["source_digest"] == would["source_digest"]
    assert not merge(_ansible_check_mode=True)["changed"]


def test_the_same_content_elsewhere_is_the_same_source(place, merge):
    merge()
    copy = place.root / "copy" / "global_step_4" / "actor"
    shutil.copytree(place.source, copy)
    assert not merge(source=str(copy))["changed"]


def test_another_source_is_refused(place, merge):
    digest = merge()["digest"]
    fake_checkpoint.component(place.source, step=6)
    answer = merge()
    assert answer["failed"]
    assert "with other content" in answer["msg"]
    assert json.loads((place.dest / "rlops_merge.json").read_text())["digest"] == digest


def test_a_foreign_directory_is_refused_and_left_alone(place, merge):
    place.dest.mkdir(parents=True)
    (place.dest / "config.json").write_text("mine")
    answer = merge()
    assert "with config.json and no rlops_merge.json" in answer["msg"]
    assert [path.name for path in place.dest.iterdir()] == ["config.json"]
    assert place.beside == {"actor"}
    assert merge(_ansible_check_mode=True)["failed"]


def test_a_file_in_the_place_of_the_directory_is_refused(place, merge):
    place.dest.parent.mkdir(parents=True)
    place.dest.write_text("mine")
    assert "not a directory" in merge()["msg"]


def test_an_empty_directory_is_taken(place, merge):
    place.dest.mkdir(parents=True)
    assert merge()["changed"]
    assert (place.dest / "rlops_merge.json").exists()


def test_a_changed_model_is_refused_and_a_touched_one_is_whole(place, merge):
    merge()
    os.utime(place.dest / "model.safetensors", (1, 1))
    assert not merge()["changed"]
    (place.dest / "config.json").write_text("{}")
    (place.dest / "tokenizer.json").unlink()
    answer = merge()
    assert answer["failed"]
    assert "config.json has 2 bytes" in answer["msg"]
    assert "tokenizer.json is missing" in answer["msg"]


def test_an_incomplete_step_names_rank_and_host(place, merge):
    (place.source / "model_world_size_2_rank_1.pt").unlink()
    answer = merge()
    assert "model shard of rank 1 of 2 is not on node-a" in answer["msg"]
    assert place.beside == set()


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda source: shutil.rmtree(source / "huggingface"), "huggingface/ with configuration and tokenizer"),
        (lambda source: (source / "huggingface" / "tokenizer.json").unlink(), "made-up tokenizer"),
        (lambda source: (source / "huggingface" / "config.json").write_text('{"architectures": null}'), "is null"),
        (
            lambda source: (source / "fsdp_config.json").unlink(),
            "fsdp_config.json (written by rank 0) is not on node-a",
        ),
        (lambda source: fake_checkpoint.cut(source / "model_world_size_2_rank_0.pt"), "rank_0.pt on node-a is cut off"),
        (shutil.rmtree, "cannot be read (No such file or directory)"),
    ],
)
def test_what_the_merger_would_stumble_over_or_swallow_is_found_before(place, merge, damage, words):
    damage(place.source)
    answer = merge()
    assert answer["failed"]
    assert words in answer["msg"]
    assert place.beside == set()


def test_broken_optimizer_states_do_not_keep_the_model_from_being_merged(place, merge):
    fake_checkpoint.cut(place.source / "optim_world_size_2_rank_0.pt")
    assert merge()["changed"]


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        ("chain", "failed on global_step_4/actor: FileNotFoundError: model_world_size_2_rank_1.pt"),
        ("full", "Free space, or choose a destination on another disk"),
        ("cut", "model.safetensors is not whole"),
        ("no weights", "no weights"),
    ],
)
def test_a_merger_that_fails_leaves_its_log_and_nothing_else(place, merge, behaviour, words):
    answer = merge(behaviour)
    assert answer["failed"]
    assert words in answer["msg"]
    assert answer["log_path"] in answer["msg"]
    assert place.beside == {"actor.merge.log"}
    assert merge()["changed"], "and the next run is not disturbed by it"


def test_a_merger_that_takes_too_long_is_ended(place, merge):
    answer = merge("hang", timeout=2)
    assert "not done within 2 s" in answer["msg"]
    assert place.beside == {"actor.merge.log"}
    assert ended(int((place.root / "pid").read_text()))


def test_too_little_space_is_said_before(place, merge, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(100, 99, 1))
    answer = merge()
    assert "found 1 B free" in answer["msg"]
    assert place.beside == set()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount a small file system")
def test_a_disk_that_fills_up_while_merging(place, merge, monkeypatch):
    place.dest.parent.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", place.dest.parent], check=True)
    try:
        monkeypatch.setattr(_checkpoint_merge, "space_problem", lambda free, source, destination: "")
        (place.source / "huggingface" / "vocab.json").write_bytes(bytes(1 << 20))
        answer = merge()
        assert answer["failed"]
        assert "no space left on the disk" in answer["msg"]
        assert not place.dest.exists()
        assert _atomic_directory.leftovers(str(place.dest)) == []
    finally:
        subprocess.run(["umount", place.dest.parent], check=True)


@pytest.mark.parametrize(
    ("python", "words"), [("/nowhere/python", "No such file"), ("/bin/false", "without a working verl")]
)
def test_a_python_without_verl(place, merge, python, words):
    answer = merge(python=python)
    assert answer["msg"].startswith(f"python: found {python}")
    assert words in answer["msg"]
    assert place.beside == set()


@pytest.mark.parametrize("source", ["/run/global_step_4", "/run/actor"])
def test_a_source_that_is_no_component(merge, source):
    assert "wanted the directory of one component" in merge(source=source)["msg"]


def ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


RUN = """
import json, sys
from ansible.module_utils.testing import patch_module_args
from ansible_collections.rlops.verl.plugins.modules import verl_checkpoint_merge
with patch_module_args(json.loads(sys.argv[1])):
    verl_checkpoint_merge.main()
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_killed_while_merging_the_next_run_ends_well(place, merge, number):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", RUN, json.dumps(place.arguments("hang"))]
    module = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    pid_file = place.root / "pid"
    wait_for("the merger runs", lambda: pid_file.exists() and pid_file.read_text(), bool, 30)
    assert any(name.startswith("actor.partial-") for name in place.beside)
    module.send_signal(number)
    module.wait()
    assert not place.dest.exists()
    wait_for("the merger is gone", lambda: ended(int(pid_file.read_text())), bool, 10)
    answer = merge()
    assert answer["changed"]
    assert bool(answer["removed"]) == (number == signal.SIGKILL), "a polite end cleans up by itself"
    assert place.beside == {"actor", "actor.merge.log"}


@pytest.mark.parametrize("step", range(17))
def test_stopped_at_any_write_it_is_there_whole_or_not_at_all(place, merge, monkeypatch, step):
    """Everything that reaches the disk goes through these calls; the run ends before one of them."""
    calls = iter(range(100))

    def ending(original):
        def call(*arguments, **options):
            if next(calls) == step:
                raise SystemExit(1)
            return original(*arguments, **options)

        return call

    monkeypatch.setattr(_atomic_directory, "remove", lambda path: None)  # a killed process does not clean up
    with monkeypatch.context() as patch:
        patch.setattr(_atomic_directory, "_sync", ending(_atomic_directory._sync))
        patch.setattr(_atomic_directory, "sha256_of", ending(_atomic_directory.sha256_of))
        patch.setattr(os, "rename", ending(os.rename))
        with patch_module_args(place.arguments()), pytest.raises(SystemExit):
            verl_checkpoint_merge.main()
    assert place.dest.exists() == (place.dest / "rlops_merge.json").exists()
    monkeypatch.undo()
    merge()
    assert not merge()["changed"]
    assert place.beside == {"actor", "actor.merge.log"}


def test_leftovers_are_removed_even_if_nothing_is_to_be_merged(place, merge):
    merge()
    leftover = place.dest.with_name("actor.partial-0badcafe")
    leftover.mkdir()
    (leftover / "model.safetensors").touch()
    would = merge(_ansible_check_mode=True)
    assert (would["changed"], would["removed"], leftover.exists()) == (True, [str(leftover)], True)
    assert merge()["removed"] == [str(leftover)]
    assert not leftover.exists()
    assert not merge()["changed"]


def test_two_merges_at_once_do_the_work_once(place, merge):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", RUN, json.dumps(place.arguments())]
    runs = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _run in range(2)]
    answers = [json.loads(run.communicate()[0]) for run in runs]
    assert sorted(answer["changed"] for answer in answers) == [False, True]
    assert place.beside == {"actor", "actor.merge.log"}
