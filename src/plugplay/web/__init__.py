"""The page that ``plugplay serve`` shows, and the HTTP interface behind it (extra ``web``).

The server holds no image in memory. Uploads go to a temporary folder (`store`), everything that decodes or restores
them runs in worker processes (`crew`, `worker`), and the page only ever sees identifiers that nobody can guess.
"""
