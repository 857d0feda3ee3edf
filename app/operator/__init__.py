"""What an operator asks of Fettle at the terminal about issues on GitHub."""
