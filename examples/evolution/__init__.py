"""Data models that change while they are used: what a service does, and what the view goes through.

``favourites.py`` is a part of a service: a new kind of item, created together with a mark on the
order it comes from. ``crm_before.py``, ``crm_both.py`` and ``crm_after.py`` are one view file at
three times: a synthetic key, a multi-attribute key beside it, and that alone.
``python -m examples.evolution`` plays both on a local engine.
"""
