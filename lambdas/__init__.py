"""The deployed functions: a file here is the entry point of one of them."""
