# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The module on real processes: a small shell script in the place of Ray, copies of the shell in that of its parts."""

from __future__ import annotations

import json
import os
import pwd
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable
from pathlib import Path

import pytest
from ansible.module_utils.testing import patch_module_args

from ansible_collections.rlops.verl.plugins.module_utils import _proc, _ray_node, _wait
from ansible_collections.rlops.verl.plugins.modules import ray_node
from ansible_collections.rlops.verl.tests.unit import fake_ray_api

# The driver has neither the leader's session nor the directory on its command line, and the leader is not its parent.
# Each part says its pid once it runs under its own name, and the leader waits for all of them.
RAY = r"""#!/bin/sh
here=${0%/*} pids=${0%/*}/pids.$$ parts=2
env > "$here/environment"
echo "$*" >> "$here/starts"
if [ "$FAKE_RAY" = fails ]; then seq -f 'line %g' 20 >&2; exit 3; fi
for argument; do case $argument in --temp-dir=*) session=${argument#*=}/session_1 ;; esac; done
[ "$FAKE_RAY" = stubborn ] && ignore="trap '' TERM;"
code() { echo "$ignore echo $1 \$\$ >> $pids; read _ <> $here/never"; }
touch "$pids"
trap 'kill $raylet $gcs_server; exit' TERM
"$here/raylet" -c "$(code raylet)" "$session" & raylet=$!
(setsid "$here/driver" -c "$(code driver)" &)
case $* in *--head*) parts=3; "$here/gcs_server" -c "$(code gcs_server)" "$session" & gcs_server=$! ;; esac
until [ "$(wc -l < "$pids")" = $parts ]; do sleep 0.02; done
[ "$FAKE_RAY" = hangs ] || echo "Ray runtime started."
wait
"""
PARTS = {"gcs_server", "raylet", "driver"}


class Place:
    """Everything that the node of one test has."""

    def __init__(self, root: Path):
        self.root = root
        self.temp_dir, self.env_file = root / "ray.d", root / "env"
        self.state_file, self.log_file = root / "state.json", root / "log"
        for name in PARTS:
            (root / name).symlink_to("/bin/sh")
        os.mkfifo(root / "never")
        (root / "ray").write_text(RAY)
        (root / "ray").chmod(0o755)
        self.env_file.write_text('# of the cluster\nRAY_A=1\nRAY_B="two words"\n')

    def arguments(self, fake: str = "", **changes: object) -> dict:
        given = {
            "command": [str(self.root / "ray"), "start", "--head"], "environment": {"FAKE_RAY": fake},
            "temp_dir": str(self.temp_dir), "env_file": str(self.env_file), "state_file": str(self.state_file),
            "log_file": str(self.log_file), "timeout": 60, **changes,
        }  # fmt: skip
        return {name: value for name, value in given.items() if value is not None}

    @property
    def starts(self) -> list[str]:
        return (self.root / "starts").read_text().splitlines() if (self.root / "starts").exists() else []

    def processes(self, leader: int) -> dict[str, int]:
        lines = (self.root / f"pids.{leader}").read_text().split()
        return {"leader": leader, **dict(zip(lines[::2], map(int, lines[1::2])))}

    def alive(self) -> set[int]:
        """All processes that any start has left."""
        leaders = [int(path.suffix[1:]) for path in self.root.glob("pids.*")]
        return alive(pid for leader in leaders for pid in self.processes(leader).values())


def alive(pids: Iterable[int]) -> set[int]:
    table = _proc.processes()
    return {pid for pid in pids if pid in table and not table[pid].zombie}


@pytest.fixture
def place():
    with tempfile.TemporaryDirectory(prefix="rlops-", dir="/tmp") as directory:  # sockets allow no longer path
        place = Place(Path(directory))
        yield place
        for pid in place.alive():
            os.kill(pid, signal.SIGKILL)


@pytest.fixture
def run(place, capsys, monkeypatch):
    """Run the module; returns its answer."""
    # It looks more often than it does for people, to be done sooner.
    monkeypatch.setattr(ray_node, "wait_for", lambda *what, interval=0.5: _wait.wait_for(*what, interval=0.02))

    def call(fake: str = "", **changes: object) -> dict:
        capsys.readouterr()
        with patch_module_args(place.arguments(fake, **changes)), pytest.raises(SystemExit):
            ray_node.main()
        return json.loads(capsys.readouterr().out)

    return call


@pytest.fixture
def stranger(place):
    """Start a process that is not the node's, in a session of its own."""
    started = []

    def call(argument: str = "", environment: dict | None = None, name: str = "raylet") -> subprocess.Popen:
        command = [name, "-c", f"echo; read _ <> {place.root}/never", argument]
        child = subprocess.Popen(
            command, executable="/bin/sh", env=environment or {}, stdout=subprocess.PIPE, start_new_session=True
        )
        started.append(child)
        child.stdout.readline()
        return child

    yield call
    for child in started:
        child.kill()
        child.communicate()


def test_start_and_again(place, run):
    first = run()
    assert [first["changed"], first["action"], first["stopped_processes"]] == [True, "start", 0]
    assert first["diff"] == {"before": "state: stopped\n", "after": "state: started\n"}
    assert place.starts == [f"start --head --temp-dir={place.temp_dir} --block"]
    assert place.temp_dir.stat().st_mode & 0o777 == 0o700
    processes = place.processes(first["pid"])
    assert set(processes) == {"leader", *PARTS}

    again = run(temp_dir=f"{place.temp_dir}/")
    assert [again["changed"], again["action"], "pid" in again] == [False, "none", False]
    assert again["diff"]["before"] == again["diff"]["after"] == "state: started\n"
    assert place.alive() == set(processes.values())
    assert len(place.starts) == 1


RUN = """
import json, sys
from ansible.module_utils.testing import patch_module_args
from ansible_collections.rlops.verl.plugins.modules import ray_node
with patch_module_args(json.loads(sys.argv[1])):
    ray_node.main()
"""


def test_the_node_survives_the_connection_that_started_it(place, run):
    module = subprocess.Popen(
        [sys.executable, "-c", RUN, json.dumps(place.arguments())],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    pid = json.loads(module.communicate()[0])["pid"]
    with pytest.raises(ProcessLookupError):
        os.killpg(module.pid, signal.SIGHUP)
    assert os.getsid(pid) == pid
    assert os.readlink(f"/proc/{pid}/cwd") == str(place.temp_dir)
    assert os.readlink(f"/proc/{pid}/fd/0") == "/dev/null"
    assert os.readlink(f"/proc/{pid}/fd/2") == str(place.log_file)
    assert run()["action"] == "none"


def test_a_worker_is_whole_without_the_heads_processes(place, run):
    worker = {"command": [str(place.root / "ray"), "start", "--address=10.0.0.1:6379"]}
    assert set(place.processes(run(**worker)["pid"])) == {"leader", "raylet", "driver"}
    assert run(**worker)["action"] == "none"


def test_the_node_has_its_own_variables_and_no_others(place, run, monkeypatch):
    monkeypatch.setenv("PASSWORD_OF_THE_USER", "x")
    monkeypatch.setenv("HOME", "/elsewhere")
    run(environment={"RAY_A": 2, "RAY_C": "3"})
    user = pwd.getpwuid(os.geteuid())
    found = dict(line.split("=", 1) for line in (place.root / "environment").read_text().splitlines())
    assert found.pop("PATH").endswith("/usr/bin:/sbin:/bin")
    of_the_shell = {"PWD", "OLDPWD", "SHLVL", "_"}
    assert {name: value for name, value in found.items() if name not in of_the_shell} == {
        "HOME": user.pw_dir, "USER": user.pw_name, "LOGNAME": user.pw_name, "LANG": "C.UTF-8",
        "RLOPS_RAY_NODE": str(place.temp_dir), "RAY_A": "2", "RAY_B": "two words", "RAY_C": "3",
    }  # fmt: skip


def test_check_mode_changes_nothing(place, run):
    absent = str(place.root / "absent")
    would = run(env_file=absent, _ansible_check_mode=True)
    assert [would["changed"], would["action"], "pid" in would] == [True, "start", False]
    assert not any(path.exists() for path in (place.temp_dir, place.state_file, place.log_file))
    answer = run(env_file=absent)
    assert f"env_file: {absent} cannot be read (No such file or directory)" in answer["msg"]

    processes = place.processes(run()["pid"])
    for change, action in (({"environment": {"X": "1"}}, "restart"), ({"state": "stopped"}, "stop")):
        would = run(_ansible_check_mode=True, **change)
        assert [would["changed"], would["action"], would["stopped_processes"]] == [True, action, 4]
    assert place.alive() == set(processes.values())
    assert run(_ansible_check_mode=True)["action"] == "none"
    assert len(place.starts) == 1


@pytest.mark.parametrize("changed", ["environment", "env_file", "command"])
def test_a_node_that_was_started_otherwise_is_restarted(place, run, changed):
    old = place.processes(run()["pid"])
    change = {"environment": {"environment": {"X": "1"}}, "env_file": {}, "command": {}}[changed]
    if changed == "env_file":
        place.env_file.write_text("RAY_A=2\n")
    if changed == "command":
        change["command"] = [str(place.root / "ray"), "start", "--head", "--num-gpus=8"]
    answer = run(**change)
    assert [answer["changed"], answer["action"], answer["stopped_processes"]] == [True, "restart", 4]
    assert answer["diff"]["after"] == "state: started\nrestarted because: its command or environment has changed\n"
    new = place.processes(answer["pid"])
    assert not set(new.values()) & set(old.values())
    assert place.alive() == set(new.values())
    assert run(**change)["action"] == "none"


@pytest.mark.parametrize(
    ("victim", "reason"),
    [
        ("raylet", "raylet has died"),
        ("gcs_server", "gcs_server has died"),
        ("leader", "its leader has died"),
    ],
)
def test_a_dead_process_is_noticed_and_the_node_restarted(place, run, victim, reason):
    old = place.processes(run()["pid"])
    os.kill(old[victim], signal.SIGKILL)
    _wait.wait_for("it is dead", lambda: alive([old[victim]]), lambda left: not left, 60)
    answer = run()
    assert [answer["action"], answer["stopped_processes"]] == ["restart", 3]
    assert answer["diff"]["before"] == "state: stopped\n"
    assert answer["diff"]["after"].endswith(f"restarted because: {reason}\n")
    assert place.alive() == set(place.processes(answer["pid"]).values())


def test_a_node_of_which_nothing_is_left_is_started(place, run):
    for pid in place.processes(run()["pid"]).values():
        os.kill(pid, signal.SIGKILL)
    _wait.wait_for("all are dead", place.alive, lambda left: not left, 60)
    assert run()["action"] == "start"


def test_a_start_that_fails_says_how_its_output_ends(place, run):
    place.log_file.write_text("of the start before\n" * 50)
    answer = run("fails")
    assert answer["failed"]
    assert "it ended with exit code 3. " in answer["msg"]
    tail = [f"line {number}" for number in range(6, 21)]
    assert answer["msg"].splitlines()[1:] == tail
    assert f"Its whole output is in {place.log_file}" in answer["msg"]
    assert place.log_file.read_text().splitlines() == [f"line {number}" for number in range(1, 6)] + tail
    assert run()["action"] == "start"


def test_a_start_that_takes_too_long_is_ended(place, run):
    answer = run("hangs", timeout=1)
    assert "it did not come up within 1 s" in answer["msg"]
    leader = json.loads(place.state_file.read_text())["pid"]
    assert alive([leader]) | place.alive() == set()


@pytest.mark.parametrize("option", ["command", "log_file", "state_file"])
def test_what_cannot_be_opened_is_named_and_nothing_runs(place, run, option):
    path = str(place.root / "absent" / "file")
    answer = run(**{option: [path, "start"] if option == "command" else path})
    assert answer["msg"] == f"Ray did not start on this host: {path}: No such file or directory"
    assert place.starts == []


def test_stop_ends_this_node_alone(place, run, stranger):
    node = place.processes(run()["pid"])
    betrayed = stranger(f"--logs={place.temp_dir}/session_0/logs")
    strangers = [
        stranger(f"--logs={place.temp_dir}2/session_1/logs"),
        stranger(f"--logs=/data{place.temp_dir}/session_1/logs"),
        stranger(f"--logs={place.temp_dir}/elsewhere"),
        stranger(f"--logs={place.temp_dir}".replace("ray.d", "ray-d") + "/session_1"),
        stranger(environment={_ray_node.MARKER: f"{place.temp_dir}2"}),
        stranger(environment={"OTHER": str(place.temp_dir)}),
    ]
    answer = run(state="stopped", command=None)
    assert [answer["changed"], answer["action"], answer["stopped_processes"]] == [True, "stop", len(node) + 1]
    assert answer["diff"] == {"before": "state: started\n", "after": "state: stopped\n"}
    assert betrayed.wait() == -signal.SIGTERM
    assert place.alive() == set()
    assert [child.poll() for child in strangers] == [None] * len(strangers)
    assert not place.state_file.exists()

    again = run(state="stopped", command=None)
    assert [again["changed"], again["action"], again["stopped_processes"]] == [False, "none", 0]


def test_processes_that_ignore_a_polite_end_are_killed(place, run, monkeypatch):
    monkeypatch.setattr(ray_node, "GRACE", 0.5)
    run("stubborn")
    assert len(place.alive()) == 4
    assert run(state="stopped")["changed"]
    assert place.alive() == set()


@pytest.mark.parametrize("content", [None, b"", b'{"boot_id": "', b"[]", b"\xff\xfe\x00"])
def test_a_node_whose_record_is_lost_is_not_started_twice(place, run, content):
    run()
    place.state_file.unlink()
    if content is not None:
        place.state_file.write_bytes(content)
    answer = run()
    assert [answer["action"], answer["stopped_processes"]] == ["restart", 4]
    assert place.alive() == set(place.processes(answer["pid"]).values())
    assert run()["action"] == "none"


@pytest.mark.parametrize("change", [{"start_ticks": -1}, {"boot_id": "other"}])
def test_a_stranger_with_the_pid_of_an_old_record_is_left_alone(place, run, stranger, change):
    run()
    record = json.loads(place.state_file.read_text())
    run(state="stopped")
    other = stranger()
    record.update({"pid": other.pid, "start_ticks": _proc.processes()[other.pid].start_ticks})
    record["start_ticks"] += change.get("start_ticks", 0)
    place.state_file.write_text(json.dumps({**record, "boot_id": change.get("boot_id", record["boot_id"])}))
    assert run(state="stopped")["action"] == "none"
    assert run()["action"] == "start"
    assert run(state="stopped")["stopped_processes"] == 4
    assert other.poll() is None


@pytest.mark.parametrize("change", [{"state": "stopped"}, {"environment": {"X": "1"}}])
def test_a_running_job_keeps_the_node_unless_forced(place, run, api, change):
    job = {"dashboard_url": api.url, "token_path": api.token_path}
    api.add("b")
    api.add("a", "PENDING")
    api.add("c", "SUCCEEDED")
    node = place.processes(run(**job)["pid"])
    assert api.requests == [], "a start harms no job"
    for check_mode in (True, False):
        answer = run(**job, **change, _ansible_check_mode=check_mode)
        assert answer["failed"]
        assert answer["running_jobs"] == ["a", "b"]
        assert "a job runs on the cluster: found a, b, wanted none" in answer["msg"]
    assert place.alive() == set(node.values())
    assert run(**job, **change, force=True)["stopped_processes"] == 4
    assert not alive(node.values())


WORK = ["ray::JobSupervisor", "ray::TaskRunner.run"]
IDLE = ["ray::IDLE", "ray::IDLE_SpillWorker", "ray::DashboardAgent", "ray::RuntimeEnvAgent"]


@pytest.fixture
def silent(api):
    """Ways in which a cluster does not tell whether a job runs."""
    with fake_ray_api.nobody() as url:
        yield {
            "not asked": {},
            "dead": {"dashboard_url": url},
            "no token": {"dashboard_url": api.url, "token_path": f"{api.token_path}.lost"},
            "other token": {"dashboard_url": api.url},
            "stranger": {"dashboard_url": api.url, "token_path": api.token_path},
        }


@pytest.mark.parametrize("why", ["not asked", "dead", "no token", "other token", "stranger"])
def test_where_the_cluster_does_not_tell_the_nodes_processes_do(place, run, stranger, api, silent, monkeypatch, why):
    monkeypatch.setattr(ray_node, "PATIENCE", 0.1)
    run()
    mark = {_ray_node.MARKER: str(place.temp_dir)}
    for name in [*WORK, *IDLE]:
        stranger(name=name, environment=mark)
    stranger(name="ray::Foreign", environment={_ray_node.MARKER: f"{place.temp_dir}2"})
    if why == "stranger":
        api.stranger = (503, {}, b"busy")
    for check_mode in (True, False):
        answer = run(state="stopped", _ansible_check_mode=check_mode, **silent[why])
        assert answer["running_jobs"] == WORK
        assert f"found {', '.join(WORK)}, wanted none" in answer["msg"]
    assert len(place.alive()) == 4
    assert run(state="stopped", force=True, **silent[why])["action"] == "stop"
    assert place.alive() == set()


@pytest.mark.parametrize("why", ["dead", "other token"])
def test_what_has_just_ended_is_waited_for(place, run, stranger, silent, why):
    run()
    child = stranger(name="ray::JobSupervisor", environment={_ray_node.MARKER: str(place.temp_dir)})
    timer = threading.Timer(0.3, child.kill)
    timer.start()
    answer = run(state="stopped", **silent[why])
    timer.join()
    assert (answer["action"], child.wait()) == ("stop", -signal.SIGKILL)


@pytest.mark.parametrize("change", [{"state": "stopped", "head": True, "command": None}, {"state": "started"}])
@pytest.mark.parametrize("victim", ["raylet", "gcs_server"])
def test_nothing_runs_without_a_vital_process(place, run, api, stranger, victim, change):
    node = place.processes(run()["pid"])
    api.add("still running, as far as is known")
    stranger(name="ray::JobSupervisor", environment={_ray_node.MARKER: str(place.temp_dir)})
    os.kill(node[victim], signal.SIGKILL)
    _wait.wait_for("it is dead", lambda: alive([node[victim]]), lambda left: not left, 60)
    answer = run(dashboard_url=api.url, token_path=api.token_path, **change)
    assert answer["action"] == ("stop" if change["state"] == "stopped" else "restart")
    assert api.requests == []


def test_a_driver_that_joined_by_itself_keeps_the_node(place, run, api):
    run()
    api.driver_status = "RUNNING"
    answer = run(state="stopped", dashboard_url=api.url, token_path=api.token_path)
    assert answer["running_jobs"] == ["driver 01000000"]
    api.driver_status = "SUCCEEDED"
    assert run(state="stopped", dashboard_url=api.url, token_path=api.token_path)["action"] == "stop"


def test_a_cluster_without_a_running_job_does_not_keep_the_node(place, run, api):
    run()
    api.add("done", "FAILED")
    assert run("other", dashboard_url=api.url, token_path=api.token_path)["action"] == "restart"
    assert api.requests == ["GET /api/jobs/"]


def test_sockets_limit_the_path(place, run):
    longest = str(place.root) + "/" + "x" * (42 - len(str(place.root)))
    assert run(temp_dir=f"{longest}/", _ansible_check_mode=True)["action"] == "start"
    answer = run(temp_dir=f"{longest[:-1]}ü")
    assert f"found {longest[:-1]}ü with 44 bytes, wanted at most 43" in answer["msg"]
    assert place.starts == []


def test_a_start_needs_a_command(run):
    assert "command" in run(command=None)["msg"]
