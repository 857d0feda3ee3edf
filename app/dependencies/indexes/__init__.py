"""Which package indexes the operator's own tools are configured for, and how set-ups use them."""
