"""The way of a record, in the order of the alphabet: decode, derive, diff, fold. Pure."""
