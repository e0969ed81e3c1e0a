"""Bring the view back to what the sources say.

`compare` tells whether a row is what it should be; `reconcile` is the one way to write out of
order. `letters` reads dead letters, `replay` reconciles what they name. `verify` compares
everything, both ways; `explain` shows one row.
"""
