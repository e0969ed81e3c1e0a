"""Bring the view back to what the sources say.

`reconcile` is the one way to write out of order; `target` is the item it is about, `compare` tells
whether a row is what it should be. `replay/` reconciles what dead letters name, `verify/` compares
everything, both ways; `explain` shows one row.
"""
