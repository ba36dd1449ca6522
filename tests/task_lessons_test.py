"""Tests of the lessons."""

import pytest

from keras_stackrnn.patterns import get
from keras_stackrnn.tasks import Lesson


@pytest.mark.parametrize(
    ("first_max_n", "expected"), [(1, [1, 2, 3, 4]), (3, [3, 4]), (9, [4]), (4, [4])]
)
def test_n_grows_by_one_up_to_the_largest(first_max_n, expected):
    assert get("anbn").lessons(first_max_n, 4) == [Lesson(n) for n in expected]


def test_n_begins_no_lower_than_the_pattern():
    assert get("binary_addition").lessons(1, 3)[0].largest == 2


def test_a_limit_waits_for_half_of_the_largest_n_and_ends_without_effect():
    learned = get("binary_addition").lessons(3, 19)

    assert [lesson.largest for lesson in learned] == list(range(3, 20))
    assert [lesson.limit for lesson in learned] == [1] * 8 + list(range(2, 11))
    # The shorter of two operands with 19 digits together has 9 at the most.
    assert learned[-1].limit >= 19 // 2
