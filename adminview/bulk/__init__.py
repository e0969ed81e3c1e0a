"""Work through a whole table, a segment at a time and page by page, beside live traffic.

A task says what is done with a page, `worker` does it so that a crash at any moment harms nobody,
and what must outlive one is kept by `adminview.bulk.lease_table`. The same code runs in the Lambda
function, on a laptop and in a plan.
"""
