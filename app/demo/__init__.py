"""`make demo`: its story, its cases and what it shows, against the simulated GitHub and model."""
