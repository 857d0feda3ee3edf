"""Runs: queued, admitted, conducted on the durable engine, paused, woken and retried."""
