"""Events that never arrived: failed deliveries redelivered, labelled issues without a run found."""
