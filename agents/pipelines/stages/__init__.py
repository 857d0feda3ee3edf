"""Step 6: stages that several pipelines use."""
