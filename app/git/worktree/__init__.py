"""The disposable files of one run: read, changed in the sandbox, and recorded."""
