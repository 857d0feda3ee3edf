"""What the simulated GitHub knows: accounts, repositories, issues, reviews, checks, alerts."""
