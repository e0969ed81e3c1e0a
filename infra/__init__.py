"""The stacks of the app. Synthesis makes no AWS calls."""
