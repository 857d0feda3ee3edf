"""Step 6: triage: what an issue needs, and what is asked of people before anything is changed."""
