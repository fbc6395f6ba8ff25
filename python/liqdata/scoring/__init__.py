"""How well maps of liquidations tell what was then liquidated: the truth, the paths, the gain, and a card of it all.

A map is scored conditionally on the path of the price, since liquidations happen only where the price goes. Of every
period its predicted USD are what the map held between the price and the period's extremes; they are held against what
was reported. Everything that is fitted on the way is fitted on the past alone. ``docs/scoring.md`` has the protocol.

One subject is one file: ``columns`` reads tables, ``truth`` the realised USD, ``path`` the moves of the price, ``fit``
the two causal fits, ``gain`` what a prediction is worth, ``curves`` what a map holds on the way to a price, ``sources``
whatever can be scored, ``models`` the engine's own estimates, ``nulls`` what must not score, ``baselines`` what others
publish, ``trial`` one prediction through all of it, ``compare`` all against each other, ``checks`` the truth itself,
``card`` what is reported with its ``text`` and ``picture``, and ``score`` the public door.
"""
