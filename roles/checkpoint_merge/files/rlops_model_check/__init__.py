# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Prove that a merged model is whole, is the trained one, loads and generates. Runs in the environment of verl."""
