"""graphql: say what it is."""
