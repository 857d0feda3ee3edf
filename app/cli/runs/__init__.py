"""`fettle runs`: list, show, follow, cancel and retry runs."""
