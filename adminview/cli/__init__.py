"""The `adminview` command and what it runs on a laptop. Never in the Lambda bundle."""
