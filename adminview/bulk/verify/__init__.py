"""All items and all rows -> what differs, and what was done about it.

`scope` is what to look at, `glance` a first look at a page. What differs waits among the `suspects`
for a second `look`, which has the last word; `differences` are what it may find, and `mend` repairs
them. `run` keeps how far all this is, `verifier` drives it.
"""
