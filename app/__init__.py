"""The machine: HTTP in, GitHub out, disk, processes."""
