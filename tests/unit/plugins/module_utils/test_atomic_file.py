# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import pytest

from ansible_collections.rlops.verl.plugins.module_utils import _atomic_file


@pytest.mark.parametrize("mode", [0o600, 0o644])
def test_content_and_mode_are_as_asked_for(tmp_path, mode):
    path = tmp_path / "file"
    for text in ("old", "new\r\n ä \udcff"):
        _atomic_file.write_text(str(path), text, mode)
    assert path.read_bytes() == "new\r\n ä ".encode() + b"\xff"
    assert path.stat().st_mode & 0o777 == mode
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_what_was_there_and_nothing_else(tmp_path):
    folder = tmp_path / "taken"
    folder.mkdir()
    (folder / "kept").write_text("kept")
    with pytest.raises(OSError):
        _atomic_file.write_text(str(folder), "text")
    assert list(tmp_path.iterdir()) == [folder]
    assert (folder / "kept").read_text() == "kept"
