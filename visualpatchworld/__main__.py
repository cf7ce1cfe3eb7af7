"""`python -m visualpatchworld` is `vpw`."""

from visualpatchworld.cli import main

main()
