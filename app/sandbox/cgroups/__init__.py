"""Control groups: what the kernel holds for a command and all that it starts (cgroups(7))."""
