"""Pull requests and their branches on GitHub."""
