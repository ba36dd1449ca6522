"""Proofs that a table is right for all n, for tasks that say what all their sequences look like."""

import dataclasses

from keras_stackrnn.extract.machine import Machine
from keras_stackrnn.extract.proof import counted_runs, word_and_back
from keras_stackrnn.extract.proof.outcome import NoProofError
from keras_stackrnn.memories.zipper import Zipper
from keras_stackrnn.patterns import Pattern
from keras_stackrnn.tasks.grammars import CountedRuns, WordAndBack

_PROVERS = {CountedRuns: counted_runs.prove, WordAndBack: word_and_back.prove}


@dataclasses.dataclass(frozen=True)
class Proof:
    """That a table is right on every sequence of a task, for all n.

    Attributes:
        cases: How many cases or configurations were looked at.
        reason: Why there is no proof; `None` if there is one.
    """

    cases: int = 0
    reason: str | None = None

    @property
    def holds(self) -> bool:
        return self.reason is None


def prove(machine: Machine, pattern: Pattern) -> Proof:
    """Tries to prove that a machine knows every row that sequences of a pattern lead to, and
    predicts all that can be predicted.

    Args:
        machine: The machine; its predictions have to be certain.
        pattern: The pattern.
    """
    prover = _PROVERS.get(type(pattern.grammar))
    if prover is None:
        return Proof(reason=f"the task {pattern.name} does not say what its sequences look like")
    others = [kind.plural for kind in machine.kinds if not isinstance(kind, Zipper)]
    if others:
        return Proof(reason=f"there are no symbolic runs of {others[0]}")
    try:
        return Proof(prover(machine, pattern))
    except NoProofError as error:
        return Proof(reason=str(error))
