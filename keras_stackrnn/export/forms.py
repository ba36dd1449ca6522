"""The signatures that each form of model has."""

from keras_stackrnn.export.next_symbol import NextSymbolSignatures
from keras_stackrnn.export.reader import Reader
from keras_stackrnn.export.recognition import RecognizerSignatures
from keras_stackrnn.export.signatures import Signature
from keras_stackrnn.export.symbols import Symbols
from keras_stackrnn.export.transduction import TransducerSignatures
from keras_stackrnn.models import NextSymbolModel, SequenceModel
from keras_stackrnn.task_models import Recognizer, Transducer

_OF_MODEL = {
    NextSymbolModel: NextSymbolSignatures,
    Transducer: TransducerSignatures,
    Recognizer: RecognizerSignatures,
}


def signatures_of(reader: Reader, symbols: Symbols) -> dict[str, Signature]:
    """All that the reader's model can be asked once it is exported, by name; no graph is made."""
    (signatures,) = (
        signatures for form, signatures in _OF_MODEL.items() if isinstance(reader.model, form)
    )
    return signatures(reader, symbols).untraced()


def require_servable(model, name: str = "the model") -> SequenceModel:
    """The model; ValueError if it is of no form that has signatures."""
    if not isinstance(model, tuple(_OF_MODEL)):
        *others, last = (form.__name__ for form in _OF_MODEL)
        raise ValueError(
            f"Expected {name} to be a {', '.join(others)} or {last}, got {type(model).__name__}."
        )
    return model
