"""How workers keep in step: the first does what a run asks for, the others the same after it."""

import dataclasses
import hashlib
import json

import numpy as np

from keras_stackrnn.training.checkpoints import Checkpoint, from_bytes, to_bytes
from keras_stackrnn.training.files import RunError
from keras_stackrnn.training.language_config import LanguageModelConfig
from keras_stackrnn.training.language_model import LanguageModelTraining, TrainingText
from keras_stackrnn.training.versions import versions
from keras_stackrnn.training.workers.group import END, Group

_ADVANCE, _STATE, _RESTORE = range(END + 1, END + 4)


class Leading:
    """The training of the first worker, which the others follow: a search like any other."""

    def __init__(self, training: LanguageModelTraining, group: Group):
        self._training = training
        self._group = group
        self._is_begun = False

    @property
    def done(self) -> bool:
        return self._training.done

    @property
    def planned_updates(self) -> int:
        return self._training.planned_updates

    def status(self):
        return self._training.status()

    def best_model(self):
        return self._training.best_model()

    def epochs(self) -> list[dict]:
        return self._training.epochs()

    def advance(self) -> None:
        if not self._is_begun:
            # The others have the same weights by now or, of another CPU, nearly the same.
            self.restore(*self.state())
        self._group.tell(_ADVANCE)
        self._training.advance()

    def state(self) -> tuple[dict[str, np.ndarray], dict]:
        self._group.tell(_STATE)
        return self._training.state()

    def restore(self, arrays: dict[str, np.ndarray], meta: dict) -> None:
        self._group.tell(_RESTORE, to_bytes(Checkpoint(arrays, meta)))
        self._training.restore(arrays, meta)
        self._is_begun = True


def follow(training: LanguageModelTraining, group: Group) -> None:
    """Does what the first worker does, until there is no more to do."""
    while True:
        word, content = group.hear()
        if word == END:
            return
        if word == _ADVANCE:
            training.advance()
        elif word == _STATE:
            training.state()
        elif word == _RESTORE:
            checkpoint = from_bytes(content)
            training.restore(checkpoint.arrays, checkpoint.meta)


def check_alike(config: LanguageModelConfig, text: TrainingText, group: Group) -> None:
    """Raises in all workers if one of them has other versions, another configuration or text."""
    own = _description(config, text)
    digests = np.array([_digest(value) for value in own.values()], np.int64)
    of_all = group.gathered(digests[None])
    for worker, others in enumerate(of_all):
        for name, first, other in zip(own, of_all[0], others, strict=True):
            if first != other:
                here = f", here {own[name]}" if len(own[name]) < 80 else ""
                raise RunError(
                    f"Worker {worker} has another {name} than worker 0{here}: give all the same."
                )


def _description(config, text) -> dict[str, str]:
    """What has to be the same everywhere."""
    values = dataclasses.asdict(config)
    for name in (*config.FREE_ON_RESUME, *config.PATHS):
        del values[name]
    return {
        **{name: str(value) for name, value in values.items()},
        **{f"version of {name}": version for name, version in versions().items()},
        "vocabulary": json.dumps(text.vocabulary),
        "text": text.train.tobytes().hex(),
    }


def _digest(value: str) -> int:
    return int.from_bytes(hashlib.sha256(value.encode()).digest()[:7], "big")
