"""`python -m app`: the same as the command `fettle`."""

from app.cli import main

main()
