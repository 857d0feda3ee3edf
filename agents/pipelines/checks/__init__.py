"""The checks pipeline: mend CI checks that fail on Fettle's own pushes."""
