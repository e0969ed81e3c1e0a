"""What several stacks are made of, said once."""
