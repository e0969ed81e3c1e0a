"""Compare all items with all rows, report the differences and repair them.

`scope` selects what to compare and `compare_page` compares a page. A difference is a candidate and
waits for a `recheck` with consistent reads. It confirms `differences`, which `repair` repairs.
`run` holds the state, `verifier` drives it.
"""
