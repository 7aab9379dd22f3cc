# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

import pytest
import yaml

from ansible_collections.rlops.verl.plugins.filter import hydra_arguments, merge_overrides

FILES = sorted((Path(__file__).resolve().parents[4] / "plugins/filter").glob("*.py"))


@pytest.mark.parametrize("name", [file.stem for file in FILES])
def test_a_filter_is_called_as_it_is_documented(name):
    file = importlib.import_module(f"ansible_collections.rlops.verl.plugins.filter.{name}")
    documented = yaml.safe_load(file.DOCUMENTATION)
    assert list(file.FilterModule().filters()) == [documented["name"]] == [name]
    _value, *parameters = inspect.signature(file.FilterModule().filters()[name]).parameters.values()
    by_name = [parameter for parameter in parameters if parameter.kind is parameter.POSITIONAL_OR_KEYWORD]
    options = {option: value for option, value in documented["options"].items() if not option.startswith("_")}
    assert documented.get("positional", "") == ", ".join(options) == ", ".join(item.name for item in by_name)
    for parameter in by_name:
        option, required = options[parameter.name], parameter.default is parameter.empty
        assert option.get("required", False) is required
        # None is how a function says "no list".
        assert (option.get("default") or None) == (None if required else parameter.default or None)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_an_error_has_no_cause_whose_text_ansible_would_append(file):
    assert re.findall(r"^ +(?:raise .+|\)) from (?!None$).*", file.read_text(encoding="utf-8"), re.MULTILINE) == []


@pytest.mark.parametrize("file", [hydra_arguments, merge_overrides])
def test_an_example_gives_what_is_written_below_it(file, example):
    stated = "".join(line[2:] for line in file.EXAMPLES.splitlines(keepends=True) if line.startswith("# "))
    assert example(file) == yaml.safe_load(stated)
