"""Encryption of texts: the columns, the keys, and sealing what is stored anew."""
