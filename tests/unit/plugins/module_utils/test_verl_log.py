# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Logs of real runs (tests/fixtures/verl_log), and lines in the form that verl, Ray and tqdm give them."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ansible_collections.rlops.verl.plugins.module_utils import _verl_log

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures" / "verl_log"
TRAINED = (FIXTURES / "ppo_2ranks_4steps.log").read_text(encoding="utf-8").splitlines()
FAILED = (FIXTURES / "reward_raises.log").read_text(encoding="utf-8").splitlines()
PREFIX = "\x1b[36m(TaskRunnerV1 pid=25294)\x1b[0m "

WORDS = st.text(alphabet=st.characters(categories=["L"]), min_size=1, max_size=8)
NUMBERS = st.integers() | st.floats(allow_nan=False)


def shown(*lines: str) -> list[str]:
    view = _verl_log.LogView()
    return [text for line in lines for text in view.show(line)]


# ---- Lines


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (f"{PREFIX}step:1 - a:1", "step:1 - a:1"),
        ("(WorkerDict pid=7, ip=10.0.0.2) hello", "hello"),
        ("\x1b[33m(vllm.Server:0+a-b pid=7)\x1b[0m", ""),
        ("(pid=25963) INFO: hello", "INFO: hello"),
        ("(pid=25963, ip=10.0.0.2) hello", "hello"),
        ("(a pid=1)  two spaces", " two spaces"),
        ("\x1b[1m\x1b[32mhttp://10.0.0.1\x1b[39m\x1b[22m", "http://10.0.0.1"),
        ("\x1b[A\x1b[2Kup", "up"),
        ("  1%|\r 50%|\x1b[0m\r(a pid=1) x\r\n", "x"),
        ("see (a pid=1) x", "see (a pid=1) x"),
        ("(raylet) hello", "(raylet) hello"),
    ],
)
def test_colours_and_the_name_of_the_actor_are_no_part_of_a_line(line, text):
    assert _verl_log.plain(line) == text


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("\n", [""]),
        ("a", ["a"]),
        ("a\n", ["a"]),
        ("\na\n\nb", ["", "a", "", "b"]),
        ("a\rb\r\nc\u2028d\x0ce\x85", ["a\rb\r", "c\u2028d\x0ce\x85"]),
    ],
)
def test_only_a_line_feed_ends_a_line(text, lines):
    assert _verl_log.split_lines(text) == lines


# ---- Numbers and steps


@given(NUMBERS)
@example(math.inf)
@example(1e-06)
def test_a_printed_number_is_read_as_it_was(number):
    for text in (repr(number), f"np.float64({number!r})"):
        read = _verl_log.parse_number(text)
        assert read == number
        assert type(read) is type(number)


@pytest.mark.parametrize("text", ["", "None", "True", "np.True_", "[1, 2]", "1 2", "np.float64(x)", "0x10", "gsm8k"])
def test_anything_else_is_no_number(text):
    assert _verl_log.parse_number(text) is None


def test_a_number_may_be_none():
    assert math.isnan(_verl_log.parse_number("nan"))


METRICS = st.dictionaries(st.lists(WORDS, min_size=1, max_size=3).map("/".join), NUMBERS, min_size=1, max_size=4)


@given(st.integers(min_value=0), METRICS, st.sampled_from(["", PREFIX, "(pid=1) "]), st.sampled_from(["", " \r"]))
def test_a_step_is_read_as_it_was_printed(step, metrics, prefix, end):
    line = f"{prefix}step:{step} - " + " - ".join(f"{name}:{value!r}" for name, value in metrics.items()) + end
    assert _verl_log.parse_step(line) == (step, metrics)


@given(st.text())
@example("step:1")
@example("step: 1 - a:1")
@example("step:x - a:1")
@example("global step:1 - a:1")
def test_other_lines_are_no_steps(line):
    assert _verl_log.parse_step(line) is None


def test_what_is_no_number_is_left_out_of_a_step():
    line = "step:3 - a:1.5 - b:None - c - val/x:y:np.int64(2) - d:-1e-05"
    assert _verl_log.parse_step(line) == (3, {"a": 1.5, "val/x:y": 2, "d": -1e-05})


def test_a_step_that_was_repeated_keeps_its_last_values():
    steps = _verl_log.parse_steps(["step:2 - a:1 - b:1", "step:3 - a:1", "noise", "step:2 - a:2 - c:3"])
    assert steps == [{"step": 2, "metrics": {"a": 2, "b": 1, "c": 3}}, {"step": 3, "metrics": {"a": 1}}]


def test_the_steps_of_a_real_run():
    steps = _verl_log.parse_steps(TRAINED)
    assert [step["step"] for step in steps] == [1, 2, 3, 4]
    assert steps[0]["metrics"]["actor/entropy"] == 5.889111518859863
    printed = [line for line in map(_verl_log.plain, TRAINED) if line.startswith("step:")]
    assert [len(step["metrics"]) for step in steps] == [line.count(" - ") for line in printed]
    assert _verl_log.summary(steps) == {
        "steps": 4,
        "last_step": 4,
        "first_score": 0.1908763200044632,
        "last_score": 0.2612396776676178,
        "seconds_per_step": 8.948,
    }


# ---- Summary and progress


def step(number: int, **metrics: float) -> dict:
    names = {"score": _verl_log.SCORE, "seconds": _verl_log.STEP_TIME, "tokens": _verl_log.THROUGHPUT}
    return {"step": number, "metrics": {names[name]: value for name, value in metrics.items()}}


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([], (0, 0, None, None, None)),
        # The first one warms up, unless it is the only one.
        ([step(1, seconds=90, score=0.0)], (1, 1, 0.0, 0.0, 90)),
        ([step(1, seconds=90), step(2, seconds=1), step(3, seconds=2)], (3, 3, None, None, 1.5)),
        # A validation before training is no training.
        ([step(0, score=9), step(1, seconds=1, score=0.5), step(2, seconds=3)], (2, 2, 0.5, 0.5, 3)),
        ([step(4, seconds=1, score=1), step(3, seconds=1, score=2)], (2, 4, 1, 2, 1)),
    ],
)
def test_summary(steps, expected):
    assert tuple(_verl_log.summary(steps).values()) == expected


@pytest.mark.parametrize(
    ("number", "metrics", "total", "line"),
    [
        (3, {}, None, "step 3"),
        (3, {"seconds": 2.04}, None, "step 3  2.0 s"),
        (3, {"seconds": 30.0}, 10, "step 3/10  30.0 s  about 3:30 left"),
        (10, {"seconds": 30.0}, 10, "step 10/10  30.0 s"),
        (1, {"score": 0.12345, "tokens": 99.6, "seconds": 4.0}, 1000, "about 1:06:36 left"),
        (1, {"score": 0.12345, "tokens": 99.6}, 0, "step 1  score 0.123  100 tokens/s per slot"),
    ],
)
def test_progress(number, metrics, total, line):
    text = _verl_log.progress(number, step(number, **metrics)["metrics"], total)
    assert text == line or (line.startswith("about") and text.endswith(f"  4.0 s  {line}"))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0:00"), (9.4, "0:09"), (59.6, "1:00"), (3599, "59:59"), (3600, "1:00:00"), (90061, "25:01:01"), (-5, "0:00")],
)
def test_clock(seconds, text):
    assert _verl_log.clock(seconds) == text


# ---- Errors


def test_the_first_error_of_a_real_run_is_its_cause():
    assert _verl_log.first_error(FAILED) == "TypeError: string indices must be integers, not 'str'"
    assert _verl_log.first_error(TRAINED) == ""


@pytest.mark.parametrize(
    ("lines", "error"),
    [
        ([], ""),
        (["ValueError: a", "TypeError: b"], "ValueError: a"),
        (["ray.exceptions.RayTaskError(TypeError): ray::f()", "KeyError: 'x'"], "KeyError: 'x'"),
        (["ray.exceptions.RayTaskError(TypeError): ray::f()", "RuntimeWarning: x"], "ray.exceptions.RayTaskError"),
        (["ray.exceptions.ActorDiedError: a", "RayActorError: b"], "ray.exceptions.ActorDiedError: a"),
        ([f"{PREFIX}torch.OutOfMemoryError: CUDA out of memory"], "torch.OutOfMemoryError: CUDA out of memory"),
        (["(pid=7) ImportError: no module"], "ImportError: no module"),
        (["  AssertionError"], "AssertionError"),
        (["KeyboardInterrupt", "x"], "KeyboardInterrupt"),
        (["hydra.errors.ConfigCompositionException: x"], "hydra.errors.ConfigCompositionException: x"),
        # Not the end of a traceback.
        (["ERROR:Error in _run_prompt"], ""),
        (["a ValueError: x was caught"], ""),
        (["ValueErrors: 3", "error: x", "UserWarning: TypeError: x", "ValueError:x"], ""),
        (["raise ValueError('x')"], ""),
    ],
)
def test_first_error(lines, error):
    found = _verl_log.first_error(lines)
    assert found.startswith(error) and bool(found) == bool(error)


# ---- The view

# As tqdm.format_meter prints them.
BARS = [
    "0it [00:00, ?it/s]",
    "(pid=1) Loading: 12it [00:03,  3.92it/s]",
    "5it [00:10, 2.1s/it]",
    "5it [00:10,  2.10s/it]",
    "Generating train split: 0 examples [00:00, ? examples/s]",
    "1500 examples [00:02, 750.00 examples/s]",
    "3 examples [00:09,  3.00s/ examples]",
    "23.8MB [00:04, 6.25MB/s]",
    "1.50kit [25:00:04, 1.20kit/s, loss=0.1]",
    "  0%|          | 0/4 [00:00<?, ?it/s]",
    "Training Progress:  25%|██▌       | 1/4 [00:32<01:36, 32.00s/it]",
    "model.safetensors:  25%|##5       | 25.0M/100M [00:04<00:12, 6.25MB/s]",
    " 25%|██▌       | 1/4 [1:06:40<3:20:00, 4000.00s/it, loss=[0.1, 2]]",
    "d:  50%|█████     | 2/4 [00:05<00:05,  2.50s/it, est. speed input: 1.00 toks/s]",
    " 12%|█▎        | 0.5/4 [00:05<00:35, 10.00s/it]",
    " 50% 2/4 [00:05<00:05,  2.50s/it]",
    " 50%|█████     | 2/4 [00:05<00:05]",
    "Loading safetensors checkpoint shards:  50% Completed | 2/4 [00:05<00:05,  2.50s/it]",
    "100%|██████████| 25/25 [00:00<00:00, 3033.55it/s]\x1b[32m [repeated 4x across cluster]\x1b[0m",
]


@pytest.mark.parametrize("tqdm", BARS)
def test_progress_bars_are_hidden(tqdm):
    assert shown(tqdm, PREFIX + tqdm, f"\r{tqdm}", f"an older bar\r{tqdm}\r", f"{tqdm}\x1b[A") == []


@pytest.mark.parametrize(
    "line",
    [
        "Loaded 12 files [00:03]",
        "12 of 24 [00:03, then more]",
        "[00:03, 3.92it/s]",
        "epoch 3 [10:15] 4/5 done",
        "throughput 3.92it/s, 50%|half",
        "rank 3 [rank0]:W1201 06:22:27.141000 5it/s",
        "took 5s [00:10, 20/07/2026]",
        "5it [0:1, 2it/s]",
        "list: [1, 2, 3/s]",
        "loss 100%|##| of 3/4",
        "eta a12it [00:03, 3.92it/s]",
        # A bar that somebody else wrote behind.
        "  0%|          | 0/4 [00:19<?, ?it/s]Traceback (most recent call last):",
        "12it [00:03,  3.92it/s]Error: ['a']",
    ],
)
def test_lines_that_look_like_a_progress_bar_are_shown(line):
    assert shown(line) == [line]


@given(st.lists(WORDS, min_size=1).map(" ".join), st.sampled_from(["", PREFIX, "(pid=1) "]), st.sampled_from(BARS))
def test_ordinary_lines_are_shown_beside_progress_bars(line, prefix, tqdm):
    actor = prefix.replace("\x1b[36m", "").replace("\x1b[0m", "")
    assert shown(tqdm, prefix + line, tqdm) == [actor + line]


@given(st.lists(st.text(alphabet="a {}'[]:,1\r\x1bm", max_size=12), max_size=8))
def test_whatever_is_written_the_view_shows_single_lines(lines):
    assert all(text.strip() and "\r" not in text for text in shown(*lines))


@pytest.mark.parametrize("line", ["", "  ", "\t\r\n", PREFIX, "\x1b[0m", "(pid=1)  "])
def test_empty_lines_are_hidden(line):
    assert shown(line) == []


def test_colours_are_hidden_and_indents_are_kept():
    assert shown(f"{PREFIX}  a \x1b[32mb\x1b[0m  ") == ["(TaskRunnerV1 pid=25294)   a b"]


CONFIG = ["{'a': {'b': None,", "       'c': ['{',", "             'd']},", "", " 'e': 1}"]


def test_a_printed_configuration_is_one_line_for_each_time():
    lines = [f"{PREFIX}{line}" for line in CONFIG]
    note = "(5 lines of configuration)"
    assert shown(*lines, " after", *lines, f"{PREFIX}'x'") == [note, " after", note, "(TaskRunnerV1 pid=25294) 'x'"]


def test_a_configuration_that_was_cut_anywhere_is_one_line():
    cut = ["{'a':", "{'b':", "None", ",", "'c': -1.5e-3", "}, 'd':", "[", "True],", "'e': 3", "}", "next"]
    assert shown(*cut) == ["(10 lines of configuration)", "next"]


def test_what_others_write_meanwhile_is_shown():
    assert shown(f"{PREFIX}{{'a': {{", "(pid=1) {'mine': {", "(pid=1)  mine", f"{PREFIX} 'b': 1}}}}") == [
        "(pid=1) {'mine': {",
        "(pid=1)  mine",
        "(2 lines of configuration)",
    ]


def test_a_configuration_without_an_end_hides_nothing_else():
    assert shown("{'a': {", " 'b': 1,", "RuntimeError: x", " 'c'") == [
        "(2 lines of configuration)",
        "RuntimeError: x",
        " 'c'",
    ]


@pytest.mark.parametrize("line", ["{'a': 1}", "{'a': '{'}", "{}", "{ 'a': {", "ray init kwargs: {'a': {", "['a',"])
def test_a_dictionary_on_one_line_is_shown(line):
    assert shown(line) == [line]


@pytest.mark.parametrize("log", [TRAINED, FAILED])
def test_the_view_of_a_real_log(log):
    view = _verl_log.LogView()
    answers = [view.show(line) for line in log]
    lines = sum(answers, [])
    (note,) = [line for line in lines if "lines of configuration" in line]
    assert int(note[1:].split()[0]) > 900
    assert not [line for line in lines if "%|" in line or "\x1b" in line or "'_target_'" in line]
    # Behind the configuration nothing is hidden but progress bars.
    hidden = [line for line, answer in list(zip(log, answers))[answers.index([note]) :] if not answer]
    assert [line for line in hidden if _verl_log.plain(line).strip() and "%|" not in line] == []
