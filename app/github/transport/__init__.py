"""HTTP to GitHub: tokens, throttle, rate limits, ETags, errors, idempotent comments."""
