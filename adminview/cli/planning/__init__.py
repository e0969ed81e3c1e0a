"""How the model changes: what differs, what it costs, and the way from one to the other."""
