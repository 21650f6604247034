"""`python -m genever` is the command `genever`."""

from .launch.command_line import main

main()
