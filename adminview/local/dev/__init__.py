"""`adminview dev`: follow the streams of a local engine, and reload view files that change.

`Session` switches from one model to the next, with the help of the other modules.
"""
