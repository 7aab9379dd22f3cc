# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A complete PPO workload that is made on the spot: tiny model, tokenizer, arithmetic data and a rule reward.

``python -m rlops_tiny_workload --root DIR`` writes it; nothing is downloaded, and the same call gives the same files.
"""
