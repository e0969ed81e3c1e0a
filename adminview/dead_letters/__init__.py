"""Replay dead letters: reconcile the items they name.

`resolve` finds the items of a dead letter, `letter_filter` selects dead letters, `replay_item` holds
one during a replay, and `replay` processes the queue. `peek` and `preview` change nothing.
"""
