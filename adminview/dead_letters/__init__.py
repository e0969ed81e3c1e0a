"""Replay dead letters: reconcile the items they name.

`resolve` finds the items of a dead letter, `letter_filter` selects dead letters, and `replay`
processes the queue. `peek` and `preview` change nothing.
"""
