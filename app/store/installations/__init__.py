"""Installations: where the App is installed, and which repositories it reaches there."""
