"""The sandbox of bubblewrap: namespaces that an ordinary user may make (bwrap(1))."""
