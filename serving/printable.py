"""Text from outside, fit for a line of a log."""


def printable(text: str) -> str:
    """Returns `text` with its control characters escaped, so that it cannot end a line or begin
    another one."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )
