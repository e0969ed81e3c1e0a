"""What the examples' services write, and what the views answer then."""
