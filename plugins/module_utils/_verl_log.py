# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What a verl driver log says: metrics of each step, progress, and the error that ended the run."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

# Colours, and the movements of the cursor by which tqdm keeps several bars apart.
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
# "(Worker pid=1, ip=10.0.0.2) ", without the name while Ray does not know it yet.
_ACTOR = re.compile(r"^\((?:[\w.:+-]+ )?pid=\d+(?:, ip=[^)]+)?\) ?")
_STEP = re.compile(r"step:(\d+) - ")
_NUMPY = re.compile(r"^np\.\w+\((.*)\)$")
# A line that ends a traceback: a dotted class name, then its message.
_EXCEPTION = re.compile(
    r"^(?:[A-Za-z_]\w*\.)*(?P<name>[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Killed))(?:\([\w.]+\))?(?::\s|$)"
)
# Exceptions by which Ray reports that another process failed: the cause stands before or below them.
_WRAPPERS = {"RayTaskError", "ActorDiedError", "RayActorError", "ActorUnavailableError", "WorkerCrashedError"}

# tqdm: "name:  25%|##5   | 1/4 [00:10<00:31, 10.58s/it]", and "name: 12it [00:03,  3.92it/s]" without a total. Text
# that follows without a space is no part of the bar: something else was written there, which is worth a look.
_PROGRESS_BAR = re.compile(r"(?:^|\s)\d\S*(?: \w+)? \[(?:\d+:)?\d\d:\d\d(?:<|, +[\d.?]+ ?\w*/ ?[^\W\d])[^\]]*\]+(?!\S)")

# Part of a printed dictionary, which may be cut into lines between any two words.
_LITERAL = re.compile(r"$|[\s'\"(){}\[\]:,]|(?:None|True|False|-?[\d.][\d.e+-]*)[)}\],]*$")
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")

SCORE = "critic/score/mean"
STEP_TIME = "timing_s/step"
THROUGHPUT = "perf/throughput"


def split_lines(text: str) -> list[str]:
    """The lines of a log. Only a line feed ends one; ``str.splitlines`` knows many more, such as U+2028."""
    return text.removesuffix("\n").split("\n") if text else []


def plain(line: str) -> str:
    """A log line as a terminal shows it, without colours and without the prefix that tells the actor."""
    return _ACTOR.sub("", _visible(line))


def _visible(line: str) -> str:
    """A line without colours and without what a carriage return lets the rest of it overwrite."""
    return _ANSI.sub("", line).rstrip().rpartition("\r")[2]


class LogView:
    """The lines of a log as a person wants to watch them.

    Without colours, empty lines and progress bars (the steps say the same), and with verl's print-out of its
    configuration, hundreds of lines, as one. The full log is kept elsewhere.
    """

    def __init__(self) -> None:
        self._folded = 0
        self._open = 0
        self._actor = ""

    def show(self, line: str) -> list[str]:
        """What is to be shown for one more line: none, one or two lines."""
        text = _visible(line)
        content = plain(text)
        actor = text[: len(text) - len(content)].rstrip()
        if self._folded and actor == self._actor:
            if not _LITERAL.match(content):
                return [self._note(), *self.show(text)]
            self._folded += 1
            self._open += _opened(content)
            return [] if self._open > 0 else [self._note()]
        if not self._folded and content.startswith("{'") and (opened := _opened(content)) > 0:
            self._folded, self._open, self._actor = 1, opened, actor
            return []
        return [] if not content.strip() or _PROGRESS_BAR.search(content) else [text]

    def _note(self) -> str:
        """Ends the fold."""
        folded, self._folded = self._folded, 0
        return f"({folded} lines of configuration)"


def _opened(content: str) -> int:
    """Brackets that a line opens and does not close."""
    rest = _QUOTED.sub("", content)
    return sum(rest.count(bracket) for bracket in "([{") - sum(rest.count(bracket) for bracket in ")]}")


def parse_number(text: str) -> float | int | None:
    """A printed Python or numpy number, None for anything else."""
    match = _NUMPY.match(text)
    if match:
        text = match[1]
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return None


def parse_step(line: str) -> tuple[int, dict[str, float]] | None:
    """Step number and metrics of a line ``step:3 - actor/entropy:5.1 - ...``, None for any other line."""
    text = plain(line)
    match = _STEP.match(text)
    if match is None:
        return None
    metrics = {}
    for field in text[match.end() :].strip().split(" - "):
        name, colon, value = field.rpartition(":")
        number = parse_number(value.strip())
        if colon and number is not None:
            metrics[name] = number
    return int(match[1]), metrics


def parse_steps(lines: Iterable[str]) -> list[dict[str, Any]]:
    """All steps of a log in the order of their first appearance; a step that was repeated keeps its last values."""
    steps: dict[int, dict[str, float]] = {}
    for line in lines:
        parsed = parse_step(line)
        if parsed is not None:
            steps.setdefault(parsed[0], {}).update(parsed[1])
    return [{"step": step, "metrics": metrics} for step, metrics in steps.items()]


def continued(earlier: list[dict[str, Any]], later: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The steps of two attempts at one run, by number; of a step that both have made, the values of the later one."""
    steps = {step["step"]: step for step in [*earlier, *later]}
    return [steps[number] for number in sorted(steps)]


def training_steps(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The steps that trained; a validation before training is reported as a step without a time."""
    return [step for step in steps if STEP_TIME in step["metrics"]]


def clock(seconds: float) -> str:
    minutes, rest = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def progress(step: int, metrics: dict[str, float], total: int | None) -> str:
    """One calm line for a finished step."""
    parts = [f"step {step}/{total}" if total else f"step {step}"]
    if SCORE in metrics:
        parts.append(f"score {metrics[SCORE]:.3f}")
    if THROUGHPUT in metrics:
        parts.append(f"{metrics[THROUGHPUT]:.0f} tokens/s per slot")
    if STEP_TIME in metrics:
        parts.append(f"{metrics[STEP_TIME]:.1f} s")
        if total and total > step:
            parts.append(f"about {clock((total - step) * metrics[STEP_TIME])} left")
    return "  ".join(parts)


def first_error(lines: Iterable[str]) -> str:
    """The exception that started the failure, not the ones that report it; empty when there is none."""
    wrapper = ""
    for line in lines:
        text = plain(line).strip()
        match = _EXCEPTION.match(text)
        if match is None:
            continue
        if match["name"] not in _WRAPPERS:
            return text
        wrapper = wrapper or text
    return wrapper


def summary(steps: list[dict[str, Any]]) -> dict[str, Any]:
    """What a person wants to know of a run: steps, scores, mean seconds per step (but for the first, it warms up)."""
    trained = training_steps(steps)
    scores = [step["metrics"][SCORE] for step in trained if SCORE in step["metrics"]]
    times = [step["metrics"][STEP_TIME] for step in trained]
    steady = times[1:] or times
    return {
        "steps": len(trained),
        "last_step": max((step["step"] for step in trained), default=0),
        "first_score": scores[0] if scores else None,
        "last_score": scores[-1] if scores else None,
        "seconds_per_step": round(sum(steady) / len(steady), 3) if steady else None,
    }
