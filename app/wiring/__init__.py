"""The composition root: the only package where ports meet their adapters."""
