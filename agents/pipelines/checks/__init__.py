"""The checks pipeline: what checks elsewhere find wrong with Fettle's own pushes is mended."""
