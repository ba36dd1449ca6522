"""Which n are learned from, and which are kept for the test: said here and nowhere else."""

# The paper trains on n below 20 and tests up to 60.
LARGEST_TRAINING_N = 19
FIRST_TEST_N = LARGEST_TRAINING_N + 1
LARGEST_TEST_N = 60
# Longer by far, for rounded actions alone.
FAR_SIZES = (200, 1000)
