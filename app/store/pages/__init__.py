"""What the pages keep: who is logged in, tokens of programs, the numbers of badges."""
