"""The watch: what was merged lately is looked at where something breaks after it."""
