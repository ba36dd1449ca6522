"""The page to watch a model think, and the command that opens it: see `__main__.py`."""
