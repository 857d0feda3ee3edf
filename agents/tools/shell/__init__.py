"""A static reader of bash: which commands a script would run, and what speaks against them."""
