"""Step 6: suggestions: those of reviewers applied, and changes of ours posted as suggestions."""
