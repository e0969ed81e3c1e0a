"""The AWS side of what the view files declare. Synthesis calls nobody."""
