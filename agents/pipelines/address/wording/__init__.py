"""What code says in a review thread, in the thread's language: one file for each language."""
