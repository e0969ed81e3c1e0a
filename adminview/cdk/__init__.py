"""What the stacks are made of. Synthesis calls nobody."""
