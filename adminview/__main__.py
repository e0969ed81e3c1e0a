"""Run the command as `python -m adminview`."""

from adminview.cli.main import main

main()
