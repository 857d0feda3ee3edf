"""The REST endpoints of the simulated GitHub, one file per resource."""
