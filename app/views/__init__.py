"""What people are shown of runs, the same at a terminal and on a page."""
