"""What `fettle doctor` looks at: each file one subject, each finding with its remedy."""
