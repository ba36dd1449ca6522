"""From a trained model to its program: fine table, certificate, quotient, and what is proved."""

import dataclasses

from keras_stackrnn import patterns
from keras_stackrnn.extract import certificate as certificates
from keras_stackrnn.extract import emit, fine, quotient
from keras_stackrnn.extract.certificate import Certificate
from keras_stackrnn.extract.checks import require_extractable
from keras_stackrnn.extract.fine import FineTable
from keras_stackrnn.extract.lessons import OfTask, OfTexts
from keras_stackrnn.extract.machine import Machine
from keras_stackrnn.extract.network import Network
from keras_stackrnn.extract.quotient import Quotient
from keras_stackrnn.extract.wording import to_text
from keras_stackrnn.models import NextSymbolModel

# From wide to narrow: the first that can be certified has the fewest rows.
WIDTHS = (0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002)
# How many texts an emitted program tests itself on.
_TESTS = 12


@dataclasses.dataclass(frozen=True)
class Extraction:
    """The program that a network has learned.

    Attributes:
        name: What the network is called.
        network: The network.
        lessons: What it was watched on.
        width: How far values of one class were apart at most.
        table: The fine table, as it was built.
        certificate: Whether the network is that table.
        quotient: The small machine.
    """

    name: str
    network: Network
    lessons: OfTask | OfTexts
    width: float
    table: FineTable
    certificate: Certificate
    quotient: Quotient

    @property
    def machine(self) -> Machine:
        """The small machine; the fine one reads along as its guard."""
        return self.quotient.machine

    @property
    def fine(self) -> Machine:
        """The fine machine."""
        return self.certificate.machine

    def to_text(self) -> str:
        """The small machine as a table."""
        return to_text(self.machine, self.quotient.rules)

    def to_json(self) -> str:
        """Both tables, and the boxes of the certificate."""
        return emit.to_json(self)

    def to_graphviz(self) -> str:
        """The small machine's rules and which follows which, in Graphviz' language."""
        return emit.to_graphviz(self)

    def to_svg(self) -> str:
        """The same as a picture."""
        return emit.to_svg(self)

    def to_jflap(self) -> str:
        """The small machine as a pushdown automaton, if it has just one stack."""
        return emit.to_jflap(self)

    def to_python(self) -> str:
        """The small machine as a file that needs nothing but Python."""
        return emit.to_python(self, self._texts())

    def _texts(self) -> list[str]:
        """Some short texts of each length that it was watched on."""
        batch = next(iter(self.lessons.batches()))
        joint = " " if any(len(symbol) > 1 for symbol in self.network.vocabulary) else ""
        chosen = {}
        for lesson in batch:
            chosen.setdefault(len(lesson.tokens), lesson.tokens)
        return [
            joint.join(self.network.vocabulary[token] for token in tokens)
            for _, tokens in sorted(chosen.items())[:_TESTS]
        ]

    def statement(self) -> str:
        """What is proved, in one sentence."""
        rows = f"the {len(self.fine.rows)} rows of the fine table"
        if self.certificate.holds:
            return (
                f"Proved: on every text, of any length, that is read from {self.lessons.start} and "
                f"stays within {rows}, the network {self.name}, in float32 with sums in any order, "
                "takes the actions of the table and predicts what it predicts."
            )
        fault = self.certificate.faults[0]
        return (
            f"Not proved: {fault.what} fails by {abs(fault.margin):.2g} in {rows} of the network "
            f"{self.name} at {self.fine.words_of(fault.key)}, so that the table is only what was "
            "seen; --sharpen writes a network that decides more clearly."
        )


def extract(
    model: NextSymbolModel,
    lessons: OfTask | OfTexts | None = None,
    name: str | None = None,
    width: float | None = None,
) -> Extraction:
    """Reads the table out of a rounded model without a recurrent kernel.

    Args:
        model: The model.
        lessons: What it is watched on; the sequences of its task if not given.
        name: What to call it.
        width: How far values of one class may be apart; the widest of `WIDTHS` that can be
            certified if not given.

    Returns:
        An `Extraction`.

    Example:

    ```python
    found = extract(keras.models.load_model("results/anb2n.keras"))
    print(found.to_text(), found.statement())
    found.machine.run("aabbbb")
    ```
    """
    name = name or model.name
    model = require_extractable(model, name)
    lessons = lessons or OfTask(patterns.get(model.task))
    if isinstance(lessons, OfTask) and list(lessons.pattern.alphabet) != model.vocabulary:
        raise ValueError(
            f"The task {lessons.pattern.name!r} has the symbols {lessons.pattern.alphabet}, and "
            f"{name} knows {''.join(model.vocabulary)}."
        )
    network = Network.of(model, name)
    table, certificate, width = _certified(network, lessons, WIDTHS if width is None else (width,))
    small = quotient.smallest(table, certificate)
    return Extraction(name, network, lessons, width, table, certificate, small)


def _certified(network, lessons, widths):
    """The widest classes that can be certified, or those that fail by the least."""
    best = None
    for width in widths:
        try:
            table = fine.build(network, lessons.batches(), width)
        except fine.TooManyRowsError:
            if best is None:
                raise
            break
        certificate = certificates.certify(network, table)
        margin = min((fault.margin for fault in certificate.faults), default=0.0)
        if best is None or margin > best[0]:
            best = margin, table, certificate, width
        if certificate.holds:
            break
    return best[1:]
