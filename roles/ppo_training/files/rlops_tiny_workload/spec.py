# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The numbers and texts that define the workload. Change any of them together with VERSION."""

from __future__ import annotations

VERSION = 1  # stored in the manifest: a workload of another version is rebuilt
SEED = 20260101

# Model. head_dim 32 is the smallest that vLLM's CPU attention takes.
HIDDEN_SIZE = 128
INTERMEDIATE_SIZE = 256
LAYERS = 2
ATTENTION_HEADS = 4
KEY_VALUE_HEADS = 2
HEAD_DIM = 32
MAX_POSITIONS = 512

# Data: "What is A + B?" with A and B below LARGEST.
LARGEST = 50
TRAIN_ROWS = 256
TEST_ROWS = 32
DATA_SOURCE = "rlops/arithmetic"

# Names inside the root folder.
MODEL = "model"
TRAIN = "train.parquet"
TEST = "test.parquet"
REWARD = "reward.py"
