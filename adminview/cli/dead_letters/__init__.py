"""Dead letters in the command line."""
