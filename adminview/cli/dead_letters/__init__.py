"""Dead letters from the command line."""
