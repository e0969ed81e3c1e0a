"""Process a whole table by segments and pages, without stopping writes.

A task defines the work on one page. `worker` runs it so that a crash at any moment is harmless, and
`lease_table` stores the state that must survive one. The Lambda function, the local command and
`apply` run the same code.
"""
