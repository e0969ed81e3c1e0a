"""The way of a record, pure: decode -> derive -> diff -> fold, which `prepare` takes it along.

What cannot go that way is told by `blame` and kept by `letter`; `tally` counts.
"""
