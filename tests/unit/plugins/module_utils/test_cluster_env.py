# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ansible_collections.rlops.verl.plugins.module_utils import _cluster_env
from ansible_collections.rlops.verl.plugins.module_utils._ray_node import parse_env_file
from ansible_collections.rlops.verl.plugins.module_utils._verdict import malformed

ALWAYS = {"NUMEXPR_MAX_THREADS": "16", "GLOO_SOCKET_IFNAME": "eth0"}
GPU = {**ALWAYS, "NCCL_SOCKET_IFNAME": "eth0"}
MKL = {"MKL_THREADING_LAYER": "GNU", "MKL_SERVICE_FORCE_INTEL": "1"}
STREAMS = {"TORCH_NCCL_AVOID_RECORD_STREAMS": "1"}


@pytest.mark.parametrize(
    ("accelerator", "distributions", "expected"),
    [
        ("cpu", {}, {**ALWAYS, "VERL_PLATFORM": "cpu"}),
        ("cpu", {"torch": "2.7.1"}, {**ALWAYS, "VERL_PLATFORM": "cpu"}),
        ("cuda", {}, GPU),
        ("cuda", {"torch": "2.7.1+cu126"}, {**GPU, **STREAMS}),
        ("cuda", {"torch": "2.8.0+cu128"}, GPU),
        ("cuda", {"torch": "2.13.0"}, GPU),
        ("cuda", {"mkl": "2024.0"}, {**GPU, **MKL}),
        ("cuda", {"mkl-service": "2.4"}, {**GPU, **MKL}),
    ],
)
def test_variables_follow_accelerator_and_packages(accelerator, distributions, expected):
    assert _cluster_env.environment(16, "eth0", accelerator, distributions) == expected


@pytest.mark.parametrize(
    ("backend", "vllm", "expected"),
    [
        ("FLASH_ATTN", "0.12.0", "FLASH_ATTN"),
        ("FLASH_ATTN", "0.8.5.post1", "FLASH_ATTN"),
        ("FLASH_ATTN", "0.13.0", None),
        ("FLASH_ATTN", "1.0.0", None),
        ("FLASH_ATTN", None, None),
        ("", "0.12.0", None),
    ],
)
def test_the_attention_backend_is_for_a_vllm_that_reads_it(backend, vllm, expected):
    found = _cluster_env.environment(16, "eth0", "cuda", {"vllm": vllm} if vllm else {}, backend)
    assert found.get("VLLM_ATTENTION_BACKEND") == expected


@pytest.mark.parametrize(("processors", "threads"), [(1, "1"), (2, "1"), (5, "2"), (15, "7"), (16, None)])
def test_small_hosts_have_fewer_threads(processors, threads):
    found = _cluster_env.environment(processors, "eth0", "cpu", {})
    assert found.get("TQ_NUM_THREADS") == threads
    assert found["NUMEXPR_MAX_THREADS"] == str(processors)


def test_the_user_adds_changes_and_removes():
    extra = {"GLOO_SOCKET_IFNAME": "ib0", "NUMEXPR_MAX_THREADS": None, "ABSENT": None, "NCCL_DEBUG": "INFO", "N": 3}
    found = _cluster_env.environment(16, "eth0", "cpu", {}, extra=extra)
    assert found == {"GLOO_SOCKET_IFNAME": "ib0", "VERL_PLATFORM": "cpu", "NCCL_DEBUG": "INFO", "N": "3"}


@pytest.mark.parametrize(
    ("value", "text"), [(True, "1"), (False, "0"), (0, "0"), (1.5, "1.5"), (" x y\n", "x y"), ("true", "true")]
)
def test_values_as_text(value, text):
    assert _cluster_env.as_text(value) == text


# --- the file --------------------------------------------------------------------------------------------------------


def test_the_file_is_sorted_and_quotes_what_needs_it():
    variables = {"B": "/opt/x:1,y=2@%+-._", "A": "", "D": 'say "hi" \\ $HOME', "C": "#x"}
    assert _cluster_env.env_file(variables) == (
        'A=\nB=/opt/x:1,y=2@%+-._\nC="#x"\nD="say \\"hi\\" \\\\ $HOME"\n'
    )  # fmt: skip


NAME = st.from_regex(r"\A[A-Za-z_][A-Za-z0-9_]{0,9}\Z")
# The characters that mean something to the file, so that they meet each other often.
VALUE = st.text(st.sampled_from("\"'\\ \t=#;$x"), max_size=8) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\n\r\0")
)


@given(st.dictionaries(NAME, VALUE))
@example({"A": '\\"', "B": '"\\\\" "', "C": " padded ", "D": '"', "E": "\\"})
@example({"A": "x\u2028y", "B": "\x0b", "C": "\x85 z"})  # ends of lines to Python, not to systemd
def test_what_is_written_is_read(variables):
    assert parse_env_file(_cluster_env.env_file(variables)) == variables


@given(NAME | st.text(max_size=4), st.text(max_size=6))
@example("A", "x\ny")
def test_a_line_is_a_variable_whatever_is_asked_for(name, value):
    try:
        text = _cluster_env.env_file({name: value})
    except ValueError as error:
        assert str(error).startswith("environment: found ")
    else:
        assert text.startswith(f"{name}=")
        assert text.count("\n") == 1


@pytest.mark.parametrize("name", ["", "A B", "1A", "A-B", "A=B", "#A", "A\n", "MODÈLE", "变量"])
def test_names_that_systemd_would_not_take_are_refused(name):
    with pytest.raises(ValueError) as caught:
        _cluster_env.env_file({name: "x"})
    assert str(caught.value) == f"environment: found the name {name!r}, wanted letters, digits and underscores"


@pytest.mark.parametrize("name", [1, None, True, ("A",)])
def test_names_that_are_no_text_are_refused(name):
    with pytest.raises(ValueError) as caught:
        _cluster_env.env_file({"A": "x", name: "x"})
    assert str(caught.value) == f"environment: found the name {name!r}, wanted letters, digits and underscores"


@pytest.mark.parametrize(("value", "line"), [(1, "A=1"), (1.5, "A=1.5"), (True, "A=1"), (" 1 ", 'A=" 1 "')])
def test_numbers_and_switches_become_text(value, line):
    assert _cluster_env.env_file({"A": value}) == f"{line}\n"


@pytest.mark.parametrize("value", [None, ["s3cret"], {"s3cret": 1}, b"s3cret"])
def test_other_values_are_refused_without_being_shown(value):
    with pytest.raises(ValueError) as caught:
        _cluster_env.env_file({"HF_TOKEN": value})
    kind = type(value).__name__
    assert str(caught.value) == f"environment: found a value of the type {kind} in HF_TOKEN, wanted text"


@pytest.mark.parametrize("value", ["a\nb", "a\n", "a\rb", "a\0b"])
def test_values_of_several_lines_are_refused_without_being_shown(value):
    with pytest.raises(ValueError, match="^environment: found a line break in HF_TOKEN, wanted one line$"):
        _cluster_env.env_file({"HF_TOKEN": value})


# --- what tasks see --------------------------------------------------------------------------------------------------


def only(wanted, found):
    checks = _cluster_env.env_checks({"10.0.0.1": wanted}, found)
    assert malformed(checks) is None
    (check,) = checks
    assert check["name"] == "environment of 10.0.0.1"
    assert check["wanted"] == "the variables of the environment file, in a Ray task"
    assert "Restart Ray on this node" in check["remedy"]
    return check["ok"], check["found"]


def test_a_node_with_its_variables_among_others():
    seen = {"10.0.0.1": {"A": "1", "B": "", "PATH": "/bin"}, "10.0.0.9": {}}
    assert only({"A": "1", "B": ""}, seen) == (True, "2 variables as declared")


def test_each_wrong_variable_is_named():
    found = only({"C": "3", "B": "2", "A": "1"}, {"10.0.0.1": {"A": "1", "B": "x"}})
    assert found == (False, "B=x instead of 2; C=(unset) instead of 3")


def test_secret_values_are_not_shown():
    found = only({"WANDB_API_KEY": "s3cret"}, {"10.0.0.1": {"WANDB_API_KEY": "0ther"}})
    assert found == (False, "WANDB_API_KEY with another value")


def test_a_node_where_no_task_ran():
    assert only({"A": "1"}, {}) == (False, "no Ray task ran on this node")


def test_each_node_has_its_own_check():
    wanted = {"10.0.0.2": {"A": "2"}, "10.0.0.1": {"A": "1"}}
    checks = _cluster_env.env_checks(wanted, {address: {"A": "1"} for address in wanted})
    assert [(check["name"][-8:], check["ok"]) for check in checks] == [("10.0.0.1", True), ("10.0.0.2", False)]
