"""Data models that change while they are in use, in a service and in a view.

``favourites.py`` is part of a service: it creates a new kind of item together with a mark on its
order. ``crm_before.py``, ``crm_both.py`` and ``crm_after.py`` are three versions of one view file:
with a synthetic key, with a multi-attribute key as well, and with that alone.
``python -m examples.evolution`` runs both on a local engine.
"""
