"""Triage: decide what an issue needs, and what to ask people first."""
