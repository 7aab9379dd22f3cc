# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""CPU platform for verl 0.9.1. verl finds it by itself (entry point ``verl.plugins``); see ``plugin.py``.

This file imports nothing: the rollout server imports its own module only, and starts without loading verl.
"""
