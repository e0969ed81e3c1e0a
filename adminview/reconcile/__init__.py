"""Make the rows of an item match its source.

`reconciler` is the only code that writes rows out of stream order. `item_ref` identifies its item,
`equality` compares rows and items. `explain` shows where one row came from.
"""
