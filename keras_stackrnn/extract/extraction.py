"""From a trained model to its program: fine table, certificate, quotient, and what is proved."""

import dataclasses

from keras_stackrnn import patterns
from keras_stackrnn.extract import certificate as certificates
from keras_stackrnn.extract import emit, fine, quotient
from keras_stackrnn.extract.agreement import Fidelity, fidelity
from keras_stackrnn.extract.certificate import Certificate
from keras_stackrnn.extract.checks import require_extractable
from keras_stackrnn.extract.fine import MOST_STATES, FineTable
from keras_stackrnn.extract.lessons import OfTask, OfTexts
from keras_stackrnn.extract.machine import Machine
from keras_stackrnn.extract.network import Network
from keras_stackrnn.extract.proof import Proof, prove
from keras_stackrnn.extract.quotient import Quotient
from keras_stackrnn.extract.wording import to_text
from keras_stackrnn.models import NextSymbolModel

# From wide to narrow: the first that can be certified has the fewest rows.
WIDTHS = (0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002)
# The same of what hidden units tell the next step's, where they are carried on.
STATE_WIDTHS = (32.0, 16.0, 8.0, 4.0, 2.0, 1.0, 0.5, 0.25, 0.1)
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
        fidelity: How well the table says what the network says, where that is not certified.
        proof: Whether the table is right for all n; `None` without a task.
    """

    name: str
    network: Network
    lessons: OfTask | OfTexts
    width: float
    table: FineTable
    certificate: Certificate
    quotient: Quotient
    fidelity: Fidelity | None
    proof: Proof | None

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
            f"seen: {self.fidelity.words()}."
        )

    def statement_for_all_n(self) -> str:
        """What is proved of a task's sequences, for all n, in one sentence."""
        pattern, proof = self.lessons.pattern, self.proof
        if not proof.holds:
            return f"Not proved for all n: {proof.reason}."
        who = "the table, and so the network, has" if self.certificate.holds else "the table has"
        return (
            f"Proved for all n, from {pattern.smallest_n} up: on every sequence of {pattern.name} "
            f"that is read from an empty memory, {who} a row for whatever is met and predicts all "
            "that can be predicted, right."
        )


def extract(
    model: NextSymbolModel,
    lessons: OfTask | OfTexts | None = None,
    name: str | None = None,
    width: float | None = None,
    max_states: int = MOST_STATES,
) -> Extraction:
    """Reads the table out of a rounded model.

    Args:
        model: The model.
        lessons: What it is watched on; the sequences of its task if not given.
        name: What to call it.
        width: How far values of one class may be apart; the widest of `WIDTHS` that can be
            certified if not given.
        max_states: How many states a table may have that is read out of a network with a
            recurrent kernel.

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
    table, certificate, width, alike = _certified(model, network, lessons, width, max_states)
    small = quotient.smallest(table, certificate)
    proof = None
    if isinstance(lessons, OfTask):
        proof = prove(certificate.machine, lessons.pattern)
    return Extraction(name, network, lessons, width, table, certificate, small, alike, proof)


def _certified(model, network, lessons, width, max_states):
    """The widest classes that can be certified, or else those that say best what the network
    says, and fail by the least."""
    best = None
    for of_values, of_states in _widths(network, width):
        try:
            table = fine.build(network, lessons.batches(), of_values, of_states, max_states)
        except fine.TooManyRowsError:
            if best is None:
                raise
            break
        certificate = certificates.certify(network, table)
        if certificate.holds:
            return table, certificate, of_values, None
        alike = fidelity(model, certificate.machine, lessons.fresh())
        worth = alike.share, certificate.faults[0].margin
        if best is None or worth > best[0]:
            best = worth, (table, certificate, of_values, alike)
    return best[1]


def _widths(network, width):
    """Pairs of widths, of values and of what states tell, from wide to narrow."""
    if not network.carried:
        return [(each, 0.0) for each in (WIDTHS if width is None else (width,))]
    return [(WIDTHS[1] if width is None else width, of_states) for of_states in STATE_WIDTHS]
