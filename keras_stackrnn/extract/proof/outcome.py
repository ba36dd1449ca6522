"""How an attempt to prove something ends."""


class NoProofError(Exception):
    """There is no proof; it says why."""
