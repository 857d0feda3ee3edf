"""Backup, restore, retention and purge of what the server keeps."""
