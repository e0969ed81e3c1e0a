"""How a record becomes writes: decode -> derive -> diff -> fold, run by `plan`. Pure.

`dead_letter` describes records that fail, `redact` their errors; `counts` sums up a batch.
"""
