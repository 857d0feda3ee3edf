"""The tools that a model may call, one file each, and the gate that decides about every call."""
