"""What an exported model says of itself, so that whoever asks it over a wire can draw it."""

import json

from keras_stackrnn.export.symbols import Symbols
from keras_stackrnn.models import SequenceModel


def description_of(model: SequenceModel, symbols: Symbols) -> str:
    """The model as JSON.

    Its keys: `form` (`next_symbol`, `transduction` or `recognition`), `task` (the name or null),
    `symbols` (in the order of their token ids, the last `marks` of which nobody writes), `written`
    (the same as they stand in a text), `separator` between them, `answers` (what there are
    probabilities of), `answer_places`, `computation` and `terminator` (as of a `Transducer`),
    `rounding`, `memory` (what `MemoryKind.picture` says, or null) and `memories` (their names, the
    first layer's first).
    """
    memory, names = None, []
    if model.has_memory:
        kind = model.recurrent[0].cell.layout.kind
        memory = kind.picture()
        names = [f"{kind.name}{i + 1}" for i in range(model.memories * model.num_layers)]
    return json.dumps(
        {
            "task": model.task,
            "symbols": symbols.vocabulary,
            "marks": model.marks,
            "written": symbols.all_written(),
            "separator": symbols.separator,
            "answers": model.answers,
            "rounding": bool(model.rounding),
            "memory": memory,
            "memories": names,
            **model.reading(),
        }
    )
