"""The deployed functions: each file is the entry point of one."""
