"""What memories are: their actions, and what these do to rows of elements."""
