# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What a file of ``torch.save`` or safetensors says about itself, read without unpickling and without its tensors.

``torch.save`` writes a ZIP64 archive whose directory stands at the end: a file that was cut off has none. The directory
also holds a CRC-32 of every tensor, so that its digest identifies the content of a shard of any size.
The pickle in it is only ever looked at as a list of opcodes: nothing that stands in a checkpoint is executed.
"""

from __future__ import annotations

import hashlib
import json
import pickletools
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

ReadAt = Callable[[int, int], bytes]  # offset, length -> bytes, fewer only at the end of the file

_END = struct.Struct("<4s4H2LH")  # end of central directory: signature .. entries, size, offset, comment length
_END64_LOCATOR = struct.Struct("<4sLQL")
_END64 = struct.Struct("<4sQ2H2L4Q")
_ENTRY = struct.Struct("<4s6H3L5H2L")  # central directory: signature .. sizes, lengths .. offset of the local header
_LOCAL = struct.Struct("<4s5H3L2H")
_FULL32 = 0xFFFFFFFF
_LARGEST_DIRECTORY = 256 << 20
_LARGEST_SAFETENSORS_HEADER = 100 << 20  # the limit of the safetensors library itself
_LARGEST_PICKLE = 64 << 20
_OPCODES = 200_000  # far beyond the first tensor, which is where everything asked for stands
_ELEMENT_BYTES = {"DoubleStorage": 8, "FloatStorage": 4, "BFloat16Storage": 2, "HalfStorage": 2}


class TorchFileError(ValueError):
    """The file is not whole; the message says what is missing."""


@dataclass(frozen=True)
class Archive:
    """A whole archive: ``digest`` identifies its content, ``pickle`` are offset and size of data.pkl."""

    digest: str
    pickle: tuple[int, int] | None


@dataclass(frozen=True)
class PickleFacts:
    """What the pickle says, None where it says nothing of the kind.

    ``rank`` is the rank that DTensors in it were saved by, ``scheduler_step`` the number of optimizer steps that the
    learning rate scheduler had seen, ``element_bytes`` the size of one element of its first floating-point tensor.
    """

    rank: int | None = None
    scheduler_step: int | None = None
    element_bytes: int | None = None


def read_archive(read_at: ReadAt, size: int) -> Archive:
    """Read the directory of the archive and hold it against the size of the file. Raises TorchFileError."""
    if size == 0:
        raise TorchFileError("empty file")
    directory_offset, directory_size, count, directory_end = _end_of_archive(read_at, size)
    if directory_offset + directory_size != directory_end:
        raise TorchFileError(
            f"not whole: its directory says {directory_offset + directory_size} bytes, the file has {directory_end}"
        )
    if directory_size > _LARGEST_DIRECTORY:
        raise TorchFileError(f"its directory of {directory_size} bytes is too large to be one of torch.save")
    directory = read_at(directory_offset, directory_size)
    pickle = None
    seen = 0
    for name, start, stored in _entries(directory):
        seen += 1
        if start + _LOCAL.size + stored > directory_offset:
            raise TorchFileError(f"not whole: {name} lies beyond the end of the data")
        if name.rpartition("/")[2] == "data.pkl":
            pickle = (start, stored)
    if seen != count:
        raise TorchFileError(f"not whole: its directory lists {seen} of {count} entries")
    if read_at(0, 4) != b"PK\x03\x04":
        raise TorchFileError("damaged: it does not begin like an archive of torch.save")
    return Archive(hashlib.sha256(directory).hexdigest(), pickle)


def _end_of_archive(read_at: ReadAt, size: int) -> tuple[int, int, int, int]:
    """Offset and size of the directory, number of its entries, and where it has to end."""
    tail = read_at(max(0, size - 65535 - _END.size), 65535 + _END.size)
    base = size - len(tail)
    at = tail.rfind(b"PK\x05\x06")
    while at >= 0:
        if len(tail) - at >= _END.size:
            fields = _END.unpack_from(tail, at)
            if base + at + _END.size + fields[7] == size:
                break
        at = tail.rfind(b"PK\x05\x06", 0, at)
    if at < 0:
        raise TorchFileError("cut off: the directory at the end of the archive is missing")
    count, directory_size, offset, end = fields[4], fields[5], fields[6], base + at
    locator_at = end - _END64_LOCATOR.size
    locator = read_at(locator_at, _END64_LOCATOR.size) if locator_at >= 0 else b""
    if locator[:4] == b"PK\x06\x07":
        end64 = _END64_LOCATOR.unpack(locator)[2]
        record = read_at(end64, _END64.size) if end64 + _END64.size <= locator_at else b""
        if len(record) < _END64.size or record[:4] != b"PK\x06\x06":
            raise TorchFileError("not whole: its directory lies beyond the end of the file")
        values = _END64.unpack(record)
        return values[9], values[8], values[7], end64
    return offset, directory_size, count, end


def _entries(directory: bytes) -> Iterator[tuple[str, int, int]]:
    """Name, offset of the local header and stored size of each entry."""
    at = 0
    while at + _ENTRY.size <= len(directory):
        fields = _ENTRY.unpack_from(directory, at)
        if fields[0] != b"PK\x01\x02":
            raise TorchFileError("damaged: its directory is not readable")
        stored, length, offset = fields[8], fields[9], fields[16]
        name_length, extra_length, comment_length = fields[10:13]
        at += _ENTRY.size
        name = directory[at : at + name_length].decode("utf-8", "replace")
        if _FULL32 in (stored, length, offset):
            extra = directory[at + name_length : at + name_length + extra_length]
            stored, offset = _zip64(extra, length, stored, offset)
        at += name_length + extra_length + comment_length
        yield name, offset, stored


def _zip64(extra: bytes, length: int, stored: int, offset: int) -> tuple[int, int]:
    """Stored size and offset from the ZIP64 field, which holds those of the three numbers that do not fit 32 bits."""
    at = 0
    while at + 4 <= len(extra):
        kind, size = struct.unpack_from("<2H", extra, at)
        if kind == 1:
            wide = iter(struct.unpack_from(f"<{min(size, len(extra) - at - 4) // 8}Q", extra, at + 4))
            if length == _FULL32:
                next(wide, None)
            if stored == _FULL32:
                stored = next(wide, stored)
            if offset == _FULL32:
                offset = next(wide, offset)
            break
        at += 4 + size
    return stored, offset


def read_pickle_facts(read_at: ReadAt, archive: Archive) -> PickleFacts:
    """Look at the opcodes of data.pkl; what cannot be read is None, since all of this is private to PyTorch."""
    if archive.pickle is None or archive.pickle[1] > _LARGEST_PICKLE:
        return PickleFacts()
    start, stored = archive.pickle
    header = read_at(start, _LOCAL.size)
    if len(header) < _LOCAL.size or header[:4] != b"PK\x03\x04":
        return PickleFacts()
    fields = _LOCAL.unpack(header)
    return pickle_facts(read_at(start + _LOCAL.size + fields[9] + fields[10], stored))


def pickle_facts(pickle: bytes) -> PickleFacts:
    """See PickleFacts. A key is followed by its value; between them only the pickler's memo may stand."""
    rank = scheduler_step = element_bytes = None
    key = None
    try:
        for opcode, argument, _position in islice(pickletools.genops(pickle), _OPCODES):
            if opcode.name in ("BINPUT", "LONG_BINPUT", "MEMOIZE"):
                continue
            if key is not None and isinstance(argument, int) and opcode.name.startswith("BININT"):
                if key == "_rank":
                    rank = argument if rank is None else rank
                elif scheduler_step is None:
                    scheduler_step = argument
            key = argument if opcode.name.endswith("UNICODE") and argument in ("_rank", "last_epoch") else None
            if opcode.name == "GLOBAL" and element_bytes is None:
                element_bytes = _ELEMENT_BYTES.get(str(argument).rpartition(" ")[2])
            if rank is not None and element_bytes is not None:
                break
    except (ValueError, UnicodeDecodeError, IndexError):
        pass  # not a pickle that this Python knows; the merger will say what is wrong with it
    return PickleFacts(rank, scheduler_step, element_bytes)


def safetensors_types(read_at: ReadAt, size: int) -> dict[str, str]:
    """The tensors of a whole safetensors file with their types, such as ``BF16``. Raises TorchFileError."""
    length = int.from_bytes(read_at(0, 8), "little")
    if size < 8 or length > min(size - 8, _LARGEST_SAFETENSORS_HEADER):
        raise TorchFileError(f"cut off: its header of {length} bytes does not fit into {size} bytes")
    try:
        header = json.loads(read_at(8, length))
        entries = {name: entry for name, entry in header.items() if name != "__metadata__"}
        end = 8 + length + max((int(entry["data_offsets"][1]) for entry in entries.values()), default=0)
        types = {name: str(entry["dtype"]) for name, entry in entries.items()}
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise TorchFileError(f"damaged: its header is not readable ({error})") from error
    if end != size:
        raise TorchFileError(f"not whole: its header says {end} bytes, the file has {size}")
    return types
