"""Well-nested brackets of two kinds, of which three may be open at once."""

from keras_stackrnn.tasks.flare.language import Language, add
from keras_stackrnn.tasks.nesting import Nesting

_BRACKETS = Nesting(kinds=2, depth=3)

add(
    "dyck_2_3",
    Language(
        _BRACKETS.alphabet,
        members=lambda sizes, keys: _BRACKETS.of_length(sizes - sizes % 2, keys),
        contains=_BRACKETS.contains,
    ),
    example="([])() yes",
)
