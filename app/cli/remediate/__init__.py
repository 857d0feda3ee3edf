"""`fettle scan` and `fettle remediate`: vulnerable dependencies of clones and repositories."""
