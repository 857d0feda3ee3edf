"""Step 8: bash as the gate reads it: which commands a script would run, and what speaks against."""
