# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from ansible.module_utils.testing import patch_module_args

from ansible_collections.rlops.verl.plugins.modules import verdict


def check(name: str, **changes: object) -> dict:
    good = {"name": name, "ok": True, "level": "error", "found": "1 GiB", "wanted": "2 GiB", "remedy": "Buy more."}
    return {**good, **changes}


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "state" / "preflight.json"


@pytest.fixture
def record(path, capsys, monkeypatch):
    """Run the module; returns its answer. Ansible would show the warnings of all runs of a process."""
    warnings: list[str] = []
    monkeypatch.setattr(verdict.AnsibleModule, "warn", lambda self, text: warnings.append(text))

    def call(*checks: object, **changes: object) -> dict:
        arguments = {"stage": "preflight", "path": str(path), "host": "node-a", "checks": list(checks), **changes}
        with patch_module_args(arguments), pytest.raises(SystemExit):
            verdict.main()
        return {**json.loads(capsys.readouterr().out), "warnings": warnings}

    return call


def test_the_file_holds_the_document_and_everybody_may_read_it(path, record):
    before = os.umask(0o077)
    try:
        answer = record(check("memory"), details={"nodes": 2})
    finally:
        os.umask(before)
    assert answer["changed"]
    assert json.loads(path.read_text()) == answer["verdict"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", answer["verdict"].pop("checked_at"))
    assert answer["verdict"] == {
        "stage": "preflight", "host": "node-a", "ok": True, "checks": [check("memory")], "details": {"nodes": 2}
    }  # fmt: skip
    assert path.stat().st_mode & 0o777 == 0o644
    assert [answer["path"], answer["diff"]["before"]] == [str(path), ""]
    assert answer["diff"]["after"] == path.read_text()
    assert answer["warnings"] == []


def test_the_file_is_replaced_and_never_written_in_place(path, record):
    record(check("memory"))
    reader = path.open()
    record(check("memory", ok=False))
    assert json.load(reader)["ok"], "who has it open still reads the whole old one"
    assert not json.loads(path.read_text())["ok"]
    assert os.listdir(path.parent) == [path.name]


def test_new_measured_values_are_written_but_are_no_change(path, record):
    record(check("disk"), check("memory"))
    old = json.loads(path.read_text())
    path.write_text(json.dumps({**old, "checked_at": "2001-01-01T00:00:00Z"}))
    again = record(check("memory", found="3 GiB", wanted="3 GiB", remedy=""), check("disk"))
    assert not again["changed"]
    assert again["diff"]["before"] == again["diff"]["after"]
    new = json.loads(path.read_text())
    assert new["checked_at"] > "2001-01-01T00:00:00Z"
    assert new["checks"][0]["found"] == "3 GiB"


@pytest.mark.parametrize(
    ("checks", "changes"),
    [
        ([check("memory", ok=False)], {}),
        ([check("memory", level="warning")], {}),
        ([check("disk")], {}),
        ([check("memory"), check("disk")], {}),
        ([check("memory")], {"details": {"nodes": 3}}),
        ([check("memory")], {"stage": "runtime"}),
    ],
)
def test_another_outcome_is_a_change(record, checks, changes):
    record(check("memory"), details={"nodes": 2})
    again = record(*checks, **{"details": {"nodes": 2}, **changes})
    assert again["changed"]
    assert again["diff"]["before"] != again["diff"]["after"]


def test_failed_errors_fail_in_one_message_and_failed_warnings_warn(path, record):
    answer = record(
        check("memory", ok=False),
        check("python", ok=False, wanted="", remedy="", found="none"),
        check("hugepages", ok=False, level="warning"),
        check("disk"),
    )
    assert answer["failed"]
    assert answer["msg"] == (
        "preflight on node-a: 2 problems\n- memory: found 1 GiB, wanted 2 GiB. Buy more.\n- python: found none."
    )
    assert answer["warnings"] == ["hugepages: found 1 GiB, wanted 2 GiB. Buy more."]
    assert not json.loads(path.read_text())["ok"]
    assert [answer["changed"], answer["path"], "verdict" in answer] == [True, str(path), False]


def test_warnings_alone_do_not_fail(path, record):
    answer = record(check("hugepages", ok=False, level="warning"))
    assert "failed" not in answer
    assert answer["verdict"]["ok"]
    assert len(answer["warnings"]) == 1


def test_the_same_failure_again_fails_without_a_change(record):
    record(check("memory", ok=False))
    again = record(check("memory", ok=False))
    assert [again["failed"], again["changed"]] == [True, False]
    assert "preflight on node-a: 1 problem\n" in again["msg"]


def test_check_mode_judges_and_writes_nothing(path, record):
    would = record(check("memory", ok=False), _ansible_check_mode=True)
    assert [would["failed"], would["changed"]] == [True, True]
    assert not path.parent.exists()
    record(check("memory"))
    before = path.read_text()
    assert not record(check("memory", found="3 GiB"), _ansible_check_mode=True)["changed"]
    assert record(check("disk"), _ansible_check_mode=True)["changed"]
    assert path.read_text() == before


def test_without_a_path_nothing_is_written_and_nothing_changes(path, record):
    answer = record(check("memory"), path=None)
    assert not answer["changed"]
    assert answer["verdict"]["ok"]
    assert not {"path", "diff"} & set(answer)


@pytest.mark.parametrize(
    "content",
    ["", '{"stage": "pre', "[]", "null", b"\xff\xfe", '{"checks": null}', '{"checks": ["x"]}', '{"checks": 1}'],
)
def test_a_file_that_holds_no_verdict_is_replaced(path, record, content):
    path.parent.mkdir()
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert record(check("memory"))["changed"]
    assert not record(check("memory"))["changed"]


def test_a_file_that_cannot_be_written_does_not_hide_what_the_checks_say(path, record):
    path.mkdir(parents=True)
    answer = record(check("memory", ok=False))
    assert "- memory: found 1 GiB" in answer["msg"]
    assert answer["warnings"] == [f"the verdict of stage preflight could not be written to {path}: Is a directory"]
    assert os.listdir(path.parent) == [path.name], "and nothing is left behind"


def test_a_directory_that_cannot_be_made_does_not_either(path, record):
    path.parent.write_text("a file")
    answer = record(check("memory"))
    assert answer["verdict"]["ok"]
    assert str(path) in answer["warnings"][0]


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"name": "memory"}, "checks[1].ok: found None, wanted bool"),
        (check("memory", ok="false"), "checks[1].ok: found 'false', wanted bool"),
        (check("memory", ok=1), "checks[1].ok: found 1, wanted bool"),
        (check("memory", found=7), "checks[1].found: found 7, wanted str"),
        (check("memory", remedy=None), "checks[1].remedy: found None, wanted str"),
        (check("memory", level="fatal"), "checks[1].level: found 'fatal', wanted one of error, warning"),
    ],
)
def test_malformed_checks_are_refused(path, record, bad, words):
    answer = record(check("disk"), bad)
    assert answer["failed"]
    assert answer["msg"] == words
    assert not path.exists()
