"""How a change of rows becomes updates of totals: changes -> position -> update. Pure.

Each row of AdminViewTable stores its contributions. `changes` reads a batch of the view's stream
and lists, per group, what each record adds. `update` folds a group's changes into one conditional
UpdateItem, which adds the amounts and sets the `position` of the shard:

    ADD amount :delta SET position.shard = :last IF position.shard is absent or < :first

If the condition fails, the error returns the item. The changes that its position covers are
dropped, and the rest is tried again. So a record counts once, however often it is delivered. A
total with many positions has some of them in its `archive`.
"""
