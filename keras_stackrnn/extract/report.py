"""What the command says of an extraction: its table, what is proved, and what was only seen."""

import dataclasses

from keras_stackrnn.extract.agreement import Agreement, agreement, score
from keras_stackrnn.extract.extraction import Extraction
from keras_stackrnn.extract.lessons import OfTask
from keras_stackrnn.extract.quotient import Rule
from keras_stackrnn.extract.wording import to_text
from keras_stackrnn.models import NextSymbolModel


@dataclasses.dataclass(frozen=True)
class Report:
    """An extraction and how it does.

    Attributes:
        found: The extraction.
        shares: For each n of the test, the share of sequences the table gets right; `None`
            without a task.
        agreements: Of network and program, for each n that was asked for.
    """

    found: Extraction
    shares: dict[int, float] | None
    agreements: tuple[Agreement, ...]

    @classmethod
    def of(cls, found: Extraction, model: NextSymbolModel, check_n: list[int]) -> "Report":
        if not isinstance(found.lessons, OfTask):
            return cls(found, None, ())
        pattern = found.lessons.pattern
        model = model.twin(capacity=None, rounding=True)
        agreements = tuple(agreement(model, found.machine, pattern, n) for n in check_n)
        return cls(found, score(found.machine, pattern), agreements)

    def sizes(self) -> str:
        """How large both tables are."""
        fine, small = self.found.fine, self.found.machine
        rules = len(self.found.quotient.rules)
        return (
            f"{len(fine.rows)} fine rows and {sum(map(len, fine.classes))} classes of values in "
            f"{len(fine.memories)} memories; {rules} rows with "
            f"{', '.join(small.memories) or 'no memory at all'}"
        )

    def score_words(self) -> str:
        """How often the program is right, which no certificate says."""
        right = sum(share == 1 for share in self.shares.values())
        ns = list(self.shares)
        return (
            f"Right: the program predicts all that can be predicted at {right} of the {len(ns)} n "
            f"from {ns[0]} to {ns[-1]}."
        )

    def to_text(self, fine: bool = False, seconds: float | None = None) -> str:
        """All of it, for reading."""
        parts = [f"{self.found.name}: {self.sizes()}\n", self.found.to_text()]
        if fine:
            machine = self.found.fine
            rows = tuple(Rule(key.token, key.seen, row) for key, row in machine.rows.items())
            parts.append(to_text(machine, rows))
        sentences = [self.found.statement()]
        if self.shares is not None:
            sentences += [self.found.statement_for_all_n(), self.score_words()]
            if not self.found.certificate.holds:
                sentences.append(
                    "Networks that decide more clearly: --prune=FILE.keras, --sharpen=FILE.keras, "
                    f"or python train.py --task={self.found.lessons.pattern.name} --memories=2."
                )
        if self.agreements:
            words = "; ".join(f"n = {each.words()}" for each in self.agreements)
            sentences.append(f"Seen: network and program predict the same at {words}.")
        if seconds is not None:
            sentences.append(f"({seconds:.0f} seconds)")
        return "\n".join([*parts, "\n".join(sentences)]) + "\n"
