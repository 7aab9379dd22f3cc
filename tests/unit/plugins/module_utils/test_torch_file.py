# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import json
import pickle
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.rlops.verl.plugins.module_utils import _torch_file
from ansible_collections.rlops.verl.tests.unit.fake_checkpoint import torch_file

# Written by PyTorch 2.13: one rank's part of a module under fully_shard, and the scheduler state beside it.
REAL = Path(__file__).resolve().parents[3] / "fixtures" / "torch"
REAL_MODEL = (REAL / "model_world_size_2_rank_1.pt").read_bytes()
REAL_EXTRA = (REAL / "extra_state_world_size_2_rank_1.pt").read_bytes()


def reader(content: bytes) -> _torch_file.ReadAt:
    return lambda offset, length: content[offset : offset + length]


def read(content: bytes) -> _torch_file.Archive:
    return _torch_file.read_archive(reader(content), len(content))


def test_a_real_model_shard_says_by_which_rank_it_was_saved():
    facts = _torch_file.read_pickle_facts(reader(REAL_MODEL), read(REAL_MODEL))
    assert facts == _torch_file.PickleFacts(rank=1, scheduler_step=None, element_bytes=4)


def test_a_real_extra_state_says_how_many_steps_the_scheduler_saw():
    facts = _torch_file.read_pickle_facts(reader(REAL_EXTRA), read(REAL_EXTRA))
    assert facts.scheduler_step == 3


@given(st.integers(min_value=0, max_value=len(REAL_MODEL) - 1))
def test_a_file_that_was_cut_off_anywhere_is_not_whole(length):
    with pytest.raises(_torch_file.TorchFileError):
        read(REAL_MODEL[:length])


@given(st.binary(max_size=300))
def test_anything_else_is_refused_with_a_reason(content):
    with pytest.raises(_torch_file.TorchFileError, match=r"\w"):
        read(content)


@given(st.integers(min_value=0, max_value=len(REAL_MODEL) - 1), st.integers(min_value=1, max_value=255))
def test_a_changed_byte_never_leads_to_another_error(position, flip):
    content = bytearray(REAL_MODEL)
    content[position] ^= flip
    try:
        archive = read(bytes(content))
    except _torch_file.TorchFileError:
        return
    _torch_file.read_pickle_facts(reader(bytes(content)), archive)


def test_bytes_missing_from_the_middle_are_noticed():
    with pytest.raises(_torch_file.TorchFileError):
        read(REAL_MODEL[:1000] + REAL_MODEL[1064:])


def test_the_digest_stands_for_the_tensors(tmp_path):
    paths = [tmp_path / name / "model.pt" for name in ("one", "same", "other")]
    for path, data in zip(paths, (b"a" * 99, b"a" * 99, b"b" * 99)):
        torch_file(path, {}, data)
    one, same, other = (read(path.read_bytes()).digest for path in paths)
    assert one == same != other


def test_archives_with_wide_numbers_are_read(tmp_path):
    """Every archive of torch.save has a ZIP64 end; entries beyond 4 GiB have ZIP64 fields too."""
    path = tmp_path / "wide.pt"
    with zipfile.ZipFile(path, "w") as archive, archive.open("wide/data.pkl", "w", force_zip64=True) as entry:
        entry.write(pickle.dumps({"_rank": 5}, protocol=2))
    content = path.read_bytes()
    assert _torch_file.read_pickle_facts(reader(content), read(content)).rank == 5
    assert _torch_file._zip64(b"\x01\0\x10\0" + (1 << 33).to_bytes(8, "little") * 2, 7, 0xFFFFFFFF, 0xFFFFFFFF) == (
        1 << 33,
        1 << 33,
    )


@given(st.integers(min_value=0, max_value=2**31 - 1))
def test_a_rank_of_any_size_is_found(rank):
    assert _torch_file.pickle_facts(pickle.dumps({"a": "b", "_rank": rank}, protocol=2)).rank == rank


@given(st.binary(max_size=200))
def test_a_broken_pickle_says_nothing(content):
    _torch_file.pickle_facts(content)


def test_nothing_in_a_pickle_is_executed(tmp_path):
    class Bomb:
        def __reduce__(self):
            return (Path.touch, (tmp_path / "executed",))

    path = tmp_path / "bomb.pt"
    torch_file(path, {"_rank": 0, "bomb": Bomb()})
    content = path.read_bytes()
    assert _torch_file.read_pickle_facts(reader(content), read(content)).rank == 0
    assert not (tmp_path / "executed").exists()


def safetensors(header: object, data: bytes) -> bytes:
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


GOOD = safetensors(
    {
        "b": {"data_offsets": [0, 4], "dtype": "F32"},
        "a": {"data_offsets": [4, 8], "dtype": "BF16"},
        "__metadata__": {},
    },
    b"12345678",
)


def test_a_whole_safetensors_file_names_its_tensors():
    assert _torch_file.safetensors_types(reader(GOOD), len(GOOD)) == {"a": "BF16", "b": "F32"}


@given(st.integers(min_value=0, max_value=len(GOOD) - 1))
def test_a_safetensors_file_that_was_cut_off_is_not_whole(length):
    with pytest.raises(_torch_file.TorchFileError):
        _torch_file.safetensors_types(reader(GOOD[:length]), length)


@pytest.mark.parametrize(
    "content",
    [GOOD + b"9", safetensors([1], b""), safetensors({"a": 3}, b""), safetensors({"a": {"data_offsets": "x"}}, b"")],
)
def test_a_safetensors_file_with_another_header_is_not_whole(content):
    with pytest.raises(_torch_file.TorchFileError):
        _torch_file.safetensors_types(reader(content), len(content))
