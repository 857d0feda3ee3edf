"""A GitHub and a model that run on this machine, for the demo and for tests."""
