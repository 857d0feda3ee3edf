"""The GraphQL endpoint of the simulated GitHub, on GitHub's own schema."""
