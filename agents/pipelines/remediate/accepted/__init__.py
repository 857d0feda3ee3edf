"""Whether a command of its own tool has accepted a dependency file."""
