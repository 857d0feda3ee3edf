"""Typed views of the fields of webhook payloads that Fettle reads."""
