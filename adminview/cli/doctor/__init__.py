"""Whether a deployment is in order, and what to do if not. `asking` alone talks to AWS."""
