"""The migrations, each named after what it brings."""
