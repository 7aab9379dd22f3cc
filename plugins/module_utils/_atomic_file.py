# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Write a file as a whole: others see the old content or the new one, and nothing half-made is left."""

from __future__ import annotations

import os
import tempfile


def write_text(path: str, text: str, mode: int = 0o600) -> None:
    """Write UTF-8 text; bytes that were read with ``surrogateescape`` come out as they were. Raises OSError."""
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path), prefix=f".{os.path.basename(path)}-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except OSError:
        os.unlink(temporary)
        raise
