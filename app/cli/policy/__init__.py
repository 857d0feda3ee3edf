"""`fettle policy`: check, test and explain a repository's policy file."""
