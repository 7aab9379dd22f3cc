# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import datetime
import math
import shlex

import pytest
from hydra import compose, initialize_config_dir
from hydra.core.override_parser.overrides_parser import OverridesParser
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ansible_collections.rlops.verl.plugins.module_utils import _hydra

PARSER = OverridesParser.create()

# Text that Hydra or OmegaConf reads in a way of its own when it is not quoted, or not quoted well.
TEXTS = [
    "",
    " ",
    " leading and trailing ",
    "\ttab\t",
    "10",
    "-5",
    "1_000",
    "1e5",
    "1e-06",
    ".5",
    "5.",
    "null",
    "Null",
    "true",
    "FALSE",
    "inf",
    "-inf",
    "nan",
    "a,b",
    "lr=1e-6",
    "a#b",
    "~/x",
    "a:b",
    "hdfs://host/x",
    "[x]",
    "{x}",
    "{a: 1}",
    "run(1)",
    "int(1)",
    "choice(a,b)",
    "it's",
    "'",
    "''",
    "'quoted'",
    '"double"',
    "\\",
    "\\\\",
    "\\'",
    "\\\\'",
    "'\\",
    "a\\b",
    "ends in \\",
    "ends in \\\\",
    "two \\\\ in the middle",
    "C:\\dir\\",
    "$HOME/x",
    "$",
    "$$",
    "$(id)",
    "line\nend",
    "line end\n",
    "\r\n",
    "modèle",
    "模型",
    "😀",
    "a;b",
    "a&b",
    "a|b",
    "*",
    "?",
    "!x",
    "%x",
    "@x",
    "`id`",
    "<x>",
    "-",
    "--flag",
    "+x",
]


def parsed(argument: str):
    return PARSER.parse_override(argument)


def same(left: object, right: object) -> bool:
    """Equal, of the same types, and nan equal to nan."""
    if type(left) is not type(right):
        return False
    if isinstance(left, list):
        return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right))
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, float) and math.isnan(left):
        return math.isnan(right)
    return left == right


def flat(overrides):
    return {override.key: override.value for override in _hydra.flatten(overrides).values()}


# --- flatten ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        ({}, {}),
        ({"a": 1}, {"a": 1}),
        ({"a": {"b": {"c": 1}, "d": None}}, {"a.b.c": 1, "a.d": None}),
        ({"a.b": {"c.d": 1}}, {"a.b.c.d": 1}),
        ({"a": {"b": {}, "c": []}}, {"a.b": {}, "a.c": []}),
        ({"a": [{"b": 1}]}, {"a": [{"b": 1}]}),
        ({"a": {"b": {"+c": 1}}}, {"+a.b.c": 1}),
        ({"+a": {"b": 1, "c": 2}}, {"+a.b": 1, "+a.c": 2}),
        ({"a.++b.c": 1}, {"++a.b.c": 1}),
        ({"+a": {"+b": 1}}, {"+a.b": 1}),
        ({"a": {"~b": None}}, {"~a.b": None}),
        ({"~a": {"b": None}}, {"~a.b": None}),
        ({"logger": {"0": "x"}}, {"logger.0": "x"}),
        ({"opts": {"cuda-memory-usage": "true"}}, {"opts.cuda-memory-usage": "true"}),
        ({"actor@actor_rollout_ref.actor": "megatron_actor"}, {"actor@actor_rollout_ref.actor": "megatron_actor"}),
        ({"+optim@a.b": "fsdp", "~hydra/launcher": None}, {"+optim@a.b": "fsdp", "~hydra/launcher": None}),
    ],
)
def test_flatten(overrides, expected):
    assert flat(overrides) == expected


def test_flatten_is_sorted_by_path_whatever_the_prefix():
    assert list(flat({"+c": 1, "a": 1, "~b": None})) == ["a", "~b", "+c"]


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"a": {"b": 1}, "a.b": 2}, "override a.b: found it twice, as a.b and a.b"),
        ({"a": {"b": 1, "+b": 2}}, "override a.b: found it twice, as a.b and \\+a.b"),
        ({"a.b": 1, "a": {"b": {"c": 2}}}, "override a.b: found a value at a.b and a key below it, a.b.c"),
        ({"~a": None, "+a.b": 1}, "override a: found a value at ~a and a key below it, \\+a.b"),
        ({"a": {}, "a.b": 1}, "override a: found a value at a and a key below it, a.b"),
        ({"+a": {"++b": 1}}, "override a.\\+\\+b: found the prefixes \\+ and \\+\\+ in one path"),
        ({"~a": {"+b": 1}}, "override a.\\+b: found the prefixes ~ and \\+"),
        ({"a": {10: 1}}, "override a: found the key 10 of the type int, wanted text"),
        ({True: 1}, "override at the top: found the key True of the type bool"),
        ({"a": {None: 1}}, "found the key None"),
        ({"a b": 1}, "override a b: found the key 'a b', wanted letters"),
        ({"a": {"b=c": 1}}, "override a.b=c: found the key 'b=c'"),
        ({"a..b": 1}, "found the key ''"),
        ({"": 1}, "found the key ''"),
        ({"+": 1}, "found the key ''"),
        ({"0": 1}, "found the key '0'"),
        ({"a.01": 1}, "found the key '01'"),
        ({"modèle": 1}, "found the key 'modèle'"),
        ({"a\n": 1}, "found the key 'a\\\\n'"),
        ({"+++a": 1}, "found the key '\\+a'"),
        ({"a": {"x@y": "z"}}, "override a: found the config group 'x@y' below it, wanted it at the top level"),
        ({"x@": "z"}, "found the key 'x@'"),
        ({"~a": 1}, "override ~a: found the value 1, wanted none"),
        ({"~a": {}}, "override ~a: found the value {}, wanted none"),
        ([1], "override at the top: found a value of the type list, wanted a dictionary"),
        (None, "override at the top: found a value of the type NoneType"),
    ],
)
def test_flatten_refuses(overrides, message):
    with pytest.raises(_hydra.OverrideError, match=message):
        _hydra.flatten(overrides)


# --- merge -----------------------------------------------------------------------------------------------------------


def merged(*layers):
    return {override.key: override.value for override in _hydra.merge(*layers).values()}


@pytest.mark.parametrize(
    ("layers", "expected"),
    [
        ([], {}),
        ([{"a": {"b": 1}}, {"a": {"c": 2}}], {"a.b": 1, "a.c": 2}),
        ([{"a.b": 1}, {"a": {"b": 2}}, {"a.b": 3}], {"a.b": 3}),
        # The prefix written last counts.
        ([{"+a": 1}, {"a": 2}], {"a": 2}),
        ([{"a": 1}, {"++a": 2}], {"++a": 2}),
        # Values take the place of what is below and above.
        ([{"a": {"b": 1, "c": 2}, "d": 1}, {"a": None}], {"a": None, "d": 1}),
        ([{"a": {"b": 1}}, {"a": {}}], {"a": {}}),
        ([{"a": 1}, {"a": {"b": 2}}], {"a.b": 2}),
        ([{"a": [1, 2]}, {"a": [3]}], {"a": [3]}),
        ([{"ab": 1}, {"a": 2}], {"ab": 1, "a": 2}),
        # Deletions
        ([{"a": {"b": 1}}, {"~a": None}], {"~a": None}),
        ([{"a": 1}, {"~a": None}, {"a": 2}], {"a": 2}),
        ([{"~a": None}, {"a.b": 1}], {"a.b": 1}),
        ([{"+a": 1}, {"~a": None}], {}),
        ([{"+a.b": 1}, {"~a.b": None}], {}),
        ([{"+a": {"b": 1, "c": 2}}, {"~a": None}], {}),
        ([{"+a": {"b": 1, "c": 2}}, {"~a.b": None}], {"+a.c": 2}),
        # Here the configuration has a, which only got a new key.
        ([{"a": {"+b": 1}}, {"~a": None}], {"~a": None}),
        ([{"+a": 1}, {"a": 2}, {"~a": None}], {"~a": None}),
        ([{"++a": 1}, {"~a": None}], {"~a": None}),
        ([{}, {"~a": None}], {"~a": None}),
        # A group is no parent of a path that looks like one.
        ([{"x@a.b": "p"}, {"x@a": "q"}], {"x@a.b": "p", "x@a": "q"}),
    ],
)
def test_merge(layers, expected):
    assert merged(*layers) == expected


def test_merge_does_not_change_its_layers():
    first, second = {"a": {"b": [1]}}, {"a": {"b": [2]}}
    _hydra.merge(first, second)
    assert (first, second) == ({"a": {"b": [1]}}, {"a": {"b": [2]}})


KEYS = st.sampled_from(["a", "b", "c", "a.b", "b.c", "+a", "+b.c", "++b"])
NESTED = st.recursive(
    st.sampled_from([None, 1, [], {}]),
    lambda children: st.dictionaries(KEYS, children, max_size=2),
    max_leaves=4,
)


@given(st.lists(st.dictionaries(KEYS | st.sampled_from(["~a", "~b.c"]), NESTED, max_size=3), min_size=1, max_size=3))
def test_plain_data_of_a_merge_reads_back(layers):
    try:
        result = _hydra.merge(*layers)
    except _hydra.OverrideError:
        return
    assert _hydra.flatten(_hydra.to_mapping(result)) == result
    assert _hydra.merge(_hydra.to_mapping(result)) == result


def test_plain_data_keeps_what_was_added_as_a_whole():
    first = _hydra.to_mapping(_hydra.merge({"+rope": {"type": "yarn", "factor": 4}}))
    assert merged(first, {"~rope": None}) == {}


# --- to_arguments ----------------------------------------------------------------------------------------------------


def arguments(overrides):
    return _hydra.to_arguments(_hydra.flatten(overrides))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "null"),
        (True, "true"),
        (False, "false"),
        (0, "0"),
        (-7, "-7"),
        (10**30, "1" + "0" * 30),
        (1e-06, "1e-06"),
        (1.0, "1.0"),
        (1e16, "1e+16"),
        (float("inf"), "inf"),
        (float("-inf"), "-inf"),
        (float("nan"), "nan"),
        ("gae", "gae"),
        ("/opt/x/y.parquet", "/opt/x/y.parquet"),
        ("Qwen/Qwen3-0.6B", "Qwen/Qwen3-0.6B"),
        ("10", "'10'"),
        ("", "''"),
        ("~/x", "'~/x'"),
        ("it's", r"'it\'s'"),
        ("\\", r"'\\'"),
        ("a\\b", r"'a\b'"),
        ("${trainer.project_name}", "'${trainer.project_name}'"),
        ([], "[]"),
        ({}, "{}"),
        (["console", "a,b", 1, None, [1.5]], "[console,'a,b',1,null,[1.5]]"),
        (("a", "b"), "[a,b]"),
        ([{"path": "x y", "a b": {"c": []}, "p,q": 1}], r"[{path:'x y',a\ b:{c:[]},p\,q:1}]"),
    ],
)
def test_arguments_of_values(value, expected):
    assert arguments({"k": value}) == [f"k={expected}"]


def test_arguments_are_sorted_by_path_and_deletions_have_no_value():
    overrides = {"trainer": {"nnodes": 2, "~logger": None}, "a": {"+b": 1}}
    assert arguments(overrides) == ["+a.b=1", "~trainer.logger", "trainer.nnodes=2"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (datetime.date(2026, 1, 31), "override k: found a value of the type date, wanted .* Quote the value in YAML"),
        ({1}, "override k: found a value of the type set"),
        (b"x", "override k: found a value of the type bytes"),
        ([1, {"a": [b"x"]}], r"override k\[1\].a\[0\]: found a value of the type bytes"),
        ("a\0b", "override k: found 'a\\\\x00b', wanted text without NUL"),
        ("\ud800", "override k: found .*, wanted text without NUL and without lone surrogates"),
        ("???", "override k: found '\\?\\?\\?'"),
        ([{1: "x"}], r"override k\[0\]: found the key 1 of the type int in a dictionary"),
        *(
            ([{key: 1}], r"override k\[0\]: found the key")
            for key in ("", "10", "1e5", "null", "TRUE", "nan", "é", "'")
        ),
    ],
)
def test_arguments_refuse(value, message):
    with pytest.raises(_hydra.OverrideError, match=message):
        arguments({"k": value})


# --- against the real Hydra -----------------------------------------------------------------------------------------

ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")).filter(lambda text: text != "???")
# The characters that mean something to the grammar, so that they meet each other often.
DENSE_TEXT = st.text(st.sampled_from("'\"\\ \t\n\r$ {}[]()=,:~+#a1.é"), max_size=12)
TEXT = st.sampled_from(TEXTS) | DENSE_TEXT | ANY_TEXT
LITERAL_TEXT = TEXT.filter(lambda text: "${" not in text)
PLAIN_TEXT = st.from_regex(r"\A[A-Za-z_/][A-Za-z0-9_./-]*\Z")
SCALAR = st.none() | st.booleans() | st.integers() | st.floats() | TEXT | PLAIN_TEXT
KEY = st.from_regex(r"\A[A-Za-z0-9_/\\+.$%*@?|()\[\]{}:=, \t-]+\Z") | st.sampled_from([" a ", "\\", "${x}", "a:b", "-"])


def is_possible(key: str) -> bool:
    try:
        _hydra.render([{key: 1}], "k")
    except _hydra.OverrideError:
        return False
    return True


VALUE = st.recursive(
    SCALAR,
    lambda children: st.lists(children, max_size=4) | st.dictionaries(KEY.filter(is_possible), children, max_size=3),
    max_leaves=12,
)


@settings(max_examples=400, deadline=None)
@given(VALUE)
def test_hydra_reads_back_the_same_value(value):
    # A dictionary at the top is not a value but a path; in a list it is one.
    override = parsed(f"k={_hydra.render(value, 'k')}")
    assert not override.is_sweep_override()
    assert same(override.value(), value)


@pytest.mark.parametrize("text", TEXTS)
def test_hydra_reads_back_special_text(text):
    for value in (text, [text, text], [{"a": text}]):
        assert same(parsed(arguments({"k": value})[0]).value(), value)


@given(st.text(max_size=4) | KEY)
def test_keys_of_dictionaries_in_lists_come_back_or_are_refused(key):
    if is_possible(key):
        assert parsed(f"k={_hydra.render([{key: 1}], 'k')}").value() == [{key: 1}]


PATH = st.lists(st.from_regex(r"\A[A-Za-z_$][A-Za-z0-9_$-]{0,5}\Z"), min_size=1, max_size=4).map(".".join)


@given(PATH, st.sampled_from(["", "+", "++", "~"]))
def test_hydra_reads_back_path_and_prefix(path, prefix):
    override = parsed(arguments({prefix + path: None})[0])
    kinds = {"": "CHANGE", "+": "ADD", "++": "FORCE_ADD", "~": "DEL"}
    assert (override.key_or_group, override.type.name) == (path, kinds[prefix])


@given(st.lists(VALUE, max_size=4))
def test_arguments_survive_a_shell(values):
    args = [f"k={_hydra.render(value, 'k')}" for value in values]
    assert shlex.split(shlex.join(args)) == args


@pytest.fixture(scope="module")
def composed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("config")
    (folder / "main.yaml").write_text("value: null\nname: run\n", encoding="utf-8")
    with initialize_config_dir(str(folder), version_base=None):
        yield lambda overrides: compose("main", overrides=arguments(overrides))


# Composing takes a tenth of a second, so each example has many texts.
@settings(max_examples=20, deadline=None)
@given(st.lists(LITERAL_TEXT, min_size=10, max_size=40))
@example(["ends in \\", "$HOME \\$ $"])
def test_composed_text_is_the_same_after_resolution(composed, texts):
    config = composed({"value": texts, "+nested": [{"a": text} for text in texts], "+single": texts[0]})
    assert list(config.value) == texts
    assert [item.a for item in config.nested] == texts
    assert config.single == texts[0]


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.lists(LITERAL_TEXT.filter(lambda text: not text.endswith("\\")), min_size=2, max_size=4), min_size=10)
)
@example([["", "x}"], ["$", "x} \\ y"]])
def test_escaped_interpolations_are_literal(composed, texts):
    config = composed({"value": [r"\${".join(pieces) for pieces in texts]})
    assert list(config.value) == ["${".join(pieces) for pieces in texts]


def test_interpolations_resolve(composed, monkeypatch):
    monkeypatch.setenv("RLOPS_TEST_HOME", "/home/x")
    assert composed({"value": "${name}/a b"}).value == "run/a b"
    assert composed({"value": "${oc.env:RLOPS_TEST_HOME}/x"}).value == "/home/x/x"
    assert composed({"value": r"\\${name}"}).value == "\\run"


def test_composed_types(composed):
    values = {"+a": 10, "+b": "10", "+c": None, "+d": "null", "+e": True, "+f": "true", "+g": 1e-06, "+h": "1e-06"}
    config = composed(values)
    assert {f"+{key}": config[key] for key in "abcdefgh"} == values
