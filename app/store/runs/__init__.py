"""Runs: what was asked, their turns, the approvals they wait for, and how they ended."""
