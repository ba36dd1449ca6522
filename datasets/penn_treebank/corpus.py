"""The corpus as text: its files and their lines."""

FILE_OF_SPLIT = {
    "train": "ptb.train.txt",
    "validation": "ptb.valid.txt",
    "test": "ptb.test.txt",
}


def read_lines(content: bytes) -> list[str]:
    """The lines of a corpus file, their words set apart by single spaces."""
    return [" ".join(line.split()) for line in content.decode().splitlines()]
