"""What Bazel runs for every test file: pytest on the file named by the arguments."""

import sys

import pytest

if __name__ == "__main__":
    # Bazel's tree of a test's inputs may be read-only, so pytest keeps no cache there.
    sys.exit(pytest.main(["-p", "no:cacheprovider", *sys.argv[1:]]))
