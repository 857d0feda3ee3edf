"""Which call runs, which is asked for, and which is refused."""
