# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Rollout ``hf``: samples with transformers on the CPU.

replica (driver) --starts--> server (one Ray actor per rank) <--weights-- adapter (in each rank)

verl's contract: token ids in, token ids and log probabilities out, and new weights before each step.
"""
