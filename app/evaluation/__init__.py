"""Evaluation: how well runs do on cases whose right answer is known."""
