"""python -m zerofleet: the command line."""

from zerofleet.cli import main

main()
