"""The `adminview` command. Never part of the Lambda bundle."""
