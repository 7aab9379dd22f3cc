# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""How the two halves of the rollout find each other."""

from __future__ import annotations


def server_name(replica_rank: int) -> str:
    """Ray actor name of a replica's server (unique in the namespace of the job)."""
    return f"hf_server_{replica_rank}"
