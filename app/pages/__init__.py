"""The pages for operators: what runs do, what waits for a decision, what it costs."""
