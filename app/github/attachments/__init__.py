"""Images that people attach to issues and comments, downloaded and checked."""
