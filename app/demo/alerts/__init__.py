"""The demo's third chapter: vulnerable packages, and proof that they are no longer."""
