"""The search for the algorithm: a population of restarts that come and go until some have it.

A replica lives for a number of updates, its learning rate falling towards the end. Its sequences
are short at first, and whenever it masters them it comes to the next lesson. At every validation
the best weights of its life so far are kept; one that has fallen hopelessly behind, or has come to
the end of its life, makes room for a fresh one with a seed of its own. Where a task is hard, those
who lag may also make room for heirs of those who lead (population-based training, Jaderberg et al.
2017), and a life ends with an exam (exam.py), which decides who has solved the task. The sequences
of validation and exam are as short as the training ones: the lengths of the test choose nothing.
"""

import dataclasses
import math
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import tensorflow as tf

from keras_stackrnn.models import NextSymbolModel, has_memory
from keras_stackrnn.training import population, population_state
from keras_stackrnn.training.beginnings import weights_to_begin_with
from keras_stackrnn.training.conversion import to_keras
from keras_stackrnn.training.exam import UNGRADED, Exam
from keras_stackrnn.training.replica import Replica, Scores
from keras_stackrnn.training.search_status import SearchStatus

# So many of the replicas have heirs in the places of as many others.
_LEADING_SHARE = 0.2
# Streams of sequences that a restart has to be right on.
_STREAMS = 4
# Standard deviation of the logarithm of an heir's learning rate around that of whom it follows.
_RATE_SPREAD = 0.4
# To how much a weight is written down where that is counted.
_WEIGHT_STEP = 0.1


class Search:
    """Trains a population until enough replicas have solved the task or the updates are used up.

    Args:
        config: A `TrainingConfig`.
        data: A `TrainingData`: streams and validation sequences, never test ones.
        say: Is told in words what takes long besides updates; optional.
    """

    def __init__(self, config, data, say: Callable[[str], None] | None = None):
        self.config = config
        self._say = say or (lambda words: None)
        self._data, self._task = data, data.task
        self._lessons = data.task.lessons(config.first_max_n, config.max_n)
        self._architecture = config.architecture(data.task.symbols, len(data.task.outputs))
        # Without a memory there is nothing to round.
        self._ways = (False, True) if has_memory(config.model) else (False,)
        self._trainer = population.trainer(
            self._architecture,
            optimizer=config.optimizer,
            clip_norm=config.clip_norm,
            clip_value=config.clip_value,
            only_deterministic=config.only_deterministic,
            flows=data.task.flows,
            several_valid=data.task.several_valid,
        )
        self._stream = data.stream(config.population * config.lanes, config.window, config.seed)
        validation, self._learned = data.validation(), None
        learned = data.learned(len(validation.lengths))
        if learned is not None:
            # Of one shape, so that they are read by one program.
            places = max(rows.tokens.shape[1] for rows in (validation, learned))
            validation = validation.to_length(places)
            self._learned = self._arrays_of(learned.to_length(places))
        self._validation = self._arrays_of(validation)
        self._exam = None
        if config.exam_sequences:
            rows = data.exam(config.exam_sequences)
            valid = self._task.valid_next(rows)
            self._exam = Exam(
                self._trainer.validate, rows, config.exam_confidence, valid, self._ways
            )
        self._in_a_row = None
        if config.sequences_in_a_row:
            rows = data.in_a_row(config.sequences_in_a_row, _STREAMS)
            self._in_a_row = self._arrays_of(rows)
        self._first_weights = None
        if config.begin_with is not None:
            self._first_weights = weights_to_begin_with(
                config.begin_with, self._architecture, self._task
            )
        self._replicas = [self._new_replica(i) for i in range(config.population)]
        self._ended: list[Replica] = []
        self._updates = 0
        self._is_compiled = False
        self._state = population_state.new_state(
            [self._initial_weights(replica) for replica in self._replicas]
        )
        # The weights that `Replica.best` belongs to, and those of the best one that has ended.
        self._best_weights = {name: w.numpy() for name, w in self._state.weights.items()}
        self._champion = Replica(seed=-1)
        self._champion_weights = {name: w[0].copy() for name, w in self._best_weights.items()}

    @property
    def done(self) -> bool:
        return self._updates >= self.config.updates or self._solved() >= self.config.wanted

    @property
    def planned_updates(self) -> int:
        """After how many updates it ends if nothing ends it sooner."""
        return self.config.updates

    def advance(self) -> None:
        """One round: the updates up to the next validation, the validation, the replacements."""
        if self._is_compiled:
            self._read_episodes()
        else:
            # The programs of a validation are compiled beside those of the updates.
            with ThreadPoolExecutor(1) as aside:
                scores = aside.submit(self._scores, self._state.weights, self._validation)
                self._read_episodes()
            scores.result()
            self._is_compiled = True
        self._validate()
        self._end_replicas()
        if not self.done:
            self._replace()
            every = self.config.inherit_every
            if every is not None and self._updates % every < self.config.updates_a_round:
                self._inherit()

    def status(self) -> SearchStatus:
        best = self._best().best
        furthest = self._lessons[max(replica.lesson for replica in self._replicas)]
        return SearchStatus(
            updates=self._updates,
            symbols=self._updates * self.config.lanes * self.config.window * len(self._replicas),
            n_range=(self._task.train_sizes[0], furthest.largest),
            alive=len(self._alive()),
            solved=self._solved(),
            best_entropy=best.rounded_entropy,
            soft_accuracy=best.soft_accuracy,
            rounded_accuracy=best.rounded_accuracy if len(self._ways) > 1 else math.nan,
        )

    def rank(self) -> tuple:
        """How well the best restart so far does on validation: higher is better."""
        return self._best().rank()

    def best_model(self, rounding: bool = False) -> NextSymbolModel:
        """The best replica so far as a Keras model, its memory unbounded."""
        best = self._best()
        weights = self._champion_weights
        if best in self._replicas:
            place = self._replicas.index(best)
            weights = {name: weight[place] for name, weight in self._best_weights.items()}
        return to_keras(self._architecture, weights, self._task, rounding)

    def restarts(self) -> list[dict]:
        """Every replica that was ever started: its seed, scores and outcome."""
        return [
            {
                "seed": replica.seed,
                "heir_of": replica.heir_of,
                "updates": replica.age,
                "learning_rate": self.config.learning_rate * replica.rate,
                "action_noise": self.config.action_noise * replica.noise,
                "initial_scale": self.config.initial_scale * replica.scale,
                "listening": replica.listening,
                "outcome": replica.outcome,
                **self._found_of(replica),
                **_of_finite_set(replica),
                "exam": None if replica.grade == UNGRADED else dataclasses.asdict(replica.grade),
            }
            for replica in [*self._ended, *self._alive()]
        ]

    def _found_of(self, replica: Replica) -> dict[str, float]:
        """Its best scores, in each way in which it was validated."""
        found = dataclasses.asdict(replica.best)
        if len(self._ways) > 1:
            return found
        return {name: score for name, score in found.items() if name.startswith("soft_")}

    def state(self) -> tuple[dict[str, np.ndarray], dict]:
        """Everything, as arrays and as plain values: `restore` continues exactly from there."""
        arrays = {}
        for group in ("weights", "means", "squares"):
            for name, tensor in getattr(self._state, group).items():
                arrays[f"{group}/{name}"] = tensor.numpy()
        arrays["ages"] = self._state.ages.numpy()
        for name in self._best_weights:
            arrays[f"best/{name}"] = self._best_weights[name]
            arrays[f"champion/{name}"] = self._champion_weights[name]
        meta = {
            "updates": self._updates,
            "stream": self._stream.state(),
            "replicas": [dataclasses.asdict(replica) for replica in self._replicas],
            "ended": [dataclasses.asdict(replica) for replica in self._ended],
            "champion": dataclasses.asdict(self._champion),
        }
        return arrays, meta

    def restore(self, arrays: dict[str, np.ndarray], meta: dict) -> None:
        """Continues from a `state()`."""

        def group(prefix, convert):
            found = {name: arrays[f"{prefix}/{name}"] for name in self._best_weights}
            for name, array in found.items():
                # Of the champion there is but one.
                expected = self._best_weights[name].shape[prefix == "champion" :]
                if array.shape != expected:
                    raise ValueError(f"{prefix}/{name} is {array.shape}, expected {expected}")
            return {name: convert(array) for name, array in found.items()}

        self._state = population_state.State(
            group("weights", tf.constant),
            group("means", tf.constant),
            group("squares", tf.constant),
            tf.constant(arrays["ages"]),
        )
        self._best_weights = group("best", np.array)
        self._champion_weights = group("champion", np.array)
        self._updates = meta["updates"]
        self._stream = self._data.stream_from(meta["stream"])
        self._replicas = [Replica.from_json(values) for values in meta["replicas"]]
        self._ended = [Replica.from_json(values) for values in meta["ended"]]
        self._champion = Replica.from_json(meta["champion"])

    def _new_replica(self, number: int) -> Replica:
        """The replica that is started as number `number`, with values of its own around those of
        the configuration."""
        config = self.config
        seed = (config.seed * 100_003 + number) % 2**31
        rng = np.random.default_rng((config.seed, number))
        rate, noise, scale = (config.vary ** rng.uniform(-1, 1, 3)).tolist()
        listening = bool(rng.random() < config.listening)
        return Replica(seed, rate=rate, noise=noise, scale=scale, listening=listening)

    def _initial_weights(self, replica: Replica) -> dict[str, tf.Tensor]:
        if self._first_weights is not None:
            return self._first_weights
        return population_state.initial_weights(
            self._architecture,
            replica.seed,
            self.config.initial_scale * replica.scale,
            replica.listening,
        )

    def _solved(self) -> int:
        return sum(replica.outcome == "solved" for replica in self._ended)

    def _best(self) -> Replica:
        return max([self._champion, *self._replicas], key=Replica.rank)

    def _read_episodes(self) -> None:
        """The updates of a round."""
        for _ in range(self.config.updates_a_round // self.config.episode):
            self._read_episode()

    def _read_episode(self) -> None:
        """Windows of sequences that follow one another, begun with empty memories; and then, for
        those who got enough of their symbols right, the next lesson."""
        config = self.config
        today = [self._lessons[r.lesson] for r in self._replicas for _ in range(config.lanes)]
        largest, limits = map(list, zip(*today, strict=True))
        self._stream.set_largest(largest, None if self._task.limit_means is None else limits)
        self._stream.begin_sequences()
        windows = self._stream.next_windows(config.episode)
        shape = (config.episode, config.population, config.lanes, config.window)
        arrays = [each.reshape(shape + each.shape[3:]) for each in windows]
        ahead = range(config.episode)
        self._state, right = self._trainer.read_episode(
            self._state,
            tf.constant([[self._learning_rate(r, i) for r in self._replicas] for i in ahead]),
            tf.constant([config.action_noise * r.noise for r in self._replicas], tf.float32),
            tf.constant([[config.seed, self._updates + i] for i in ahead]),
            *map(tf.constant, arrays),
        )
        self._updates += config.episode
        for replica, shares in zip(self._replicas, right.numpy().tolist(), strict=True):
            replica.age += config.episode
            for share in shares:
                masters_it = replica.comes_on(share, config.mastery)
            replica.noise_follows(config.noise_growth, config.episode)
            if masters_it and replica.lesson < len(self._lessons) - 1:
                replica.lesson, replica.lately = replica.lesson + 1, []

    def _arrays_of(self, rows) -> list[np.ndarray]:
        """What a validation reads of rows: tokens, targets, which of these are scored; and which
        symbols may come, where several may."""
        valid = self._task.valid_next(rows)
        return [rows.tokens, rows.targets, rows.scored, *([] if valid is None else [valid])]

    def _learning_rate(self, replica: Replica, ahead: int) -> float:
        """That of a replica after `ahead` further updates: with Adam constant for most of a life,
        then falling to a twentieth; with SGD as the paper has it, halved whenever validation does
        not improve."""
        if self.config.optimizer == "sgd":
            return self.config.learning_rate * 0.5**replica.halvings
        left = 1 - (replica.age + ahead) / self.config.lifetime
        cooled = min(1.0, max(0.05, left / self.config.cooling))
        return self.config.learning_rate * replica.rate * cooled

    def _validate(self) -> None:
        weights = self._state.weights
        for place, scores in enumerate(self._scores(weights, self._validation)):
            replica = self._replicas[place]
            replica.latest = scores
            if self._improves(scores, replica.best):
                replica.best, replica.best_age = scores, replica.age
                for name, weight in weights.items():
                    self._best_weights[name][place] = weight[place].numpy()
                if self._learned is not None:
                    best = (each[place] for each in self._best_weights.values())
                    replica.bits = _bits_of(best)
            elif self.config.optimizer == "sgd":
                replica.halvings += 1
                best = {name: weight[place] for name, weight in self._best_weights.items()}
                self._state = population_state.with_weights(self._state, place, best)

    def _scores(self, weights, symbols) -> list[Scores]:
        """The scores of every replica with these weights."""
        symbols = tuple(map(tf.constant, symbols))
        columns = []
        for rounding in self._ways:
            right, entropy, confidence = (
                score.numpy()
                for score in self._trainer.validate(weights, *symbols, rounding=rounding)
            )
            share = self._task.validated(right / len(symbols[0]), entropy)
            columns += [share.tolist(), entropy.tolist(), confidence.tolist()]
        if len(self._ways) == 1:
            columns *= 2
        return [Scores(*values) for values in zip(*columns, strict=True)]

    def _improves(self, scores: Scores, best: Scores) -> bool:
        if scores.diverged:
            return False
        if self.config.optimizer == "sgd":
            return scores.soft_entropy < best.soft_entropy
        return scores.rank() > best.rank()

    def _alive(self) -> list[Replica]:
        return [replica for replica in self._replicas if replica.outcome == "alive"]

    def _end_replicas(self) -> None:
        """Ends the replicas whose time has come, and remembers the best of them."""
        self._examine()
        self._look_back()
        diverged = sum(replica.latest.diverged for replica in self._replicas)
        if diverged:
            of_all = f"{diverged} of {len(self._replicas)} restarts"
            self._say(f"Diverged: the loss of {of_all} is no number any more, and they end.")
        for place, replica in enumerate(self._replicas):
            replica.outcome = self._outcome(replica)
            if replica.outcome == "alive":
                continue
            self._ended.append(replica)
            if replica.rank() > self._champion.rank():
                self._champion = replica
                self._champion_weights = {
                    name: weight[place].copy() for name, weight in self._best_weights.items()
                }

    def _examine(self) -> None:
        """The exams of those at the end of their life who were right on all of the validation."""
        examined = [each.best.solved and self._is_over(each) for each in self._replicas]
        if self._in_a_row is not None and any(examined):
            self._examine_in_a_row(examined)
        if self._exam is None or not any(examined):
            return
        of_all = f"{sum(examined)} of {len(examined)} restarts"
        self._say(f"Exam of {of_all} on {self._exam.size:,} short sequences.")
        grades = self._exam.grade(self._best_weights)
        for replica, grade, is_examined in zip(self._replicas, grades, examined, strict=True):
            if is_examined:
                replica.grade = grade
        self._say(f"Passed by {sum(replica.grade.passed for replica in self._replicas)}.")

    def _examine_in_a_row(self, examined: list[bool]) -> None:
        """Who is right, rounded, on sequences one after the other, the memory not being emptied."""
        weights = {name: tf.constant(weight) for name, weight in self._best_weights.items()}
        arrays = map(tf.constant, self._in_a_row)
        scores = self._trainer.validate(weights, *arrays, rounding=self._ways[-1], long=True)
        for replica, is_examined, right in zip(
            self._replicas, examined, scores.right.numpy().tolist(), strict=True
        ):
            if is_examined:
                replica.in_a_row = right / _STREAMS

    def _look_back(self) -> None:
        """How those at the end of their life do on what they have learned from."""
        ended = [self._is_over(replica) for replica in self._replicas]
        if self._learned is None or not any(ended):
            return
        weights = {name: tf.constant(weight) for name, weight in self._best_weights.items()}
        scores = self._scores(weights, self._learned)
        for place, replica in enumerate(self._replicas):
            if ended[place]:
                replica.learned = scores[place].rank()[0]

    def _replace(self) -> None:
        """Starts fresh replicas in the places of those that have ended."""
        for place, replica in enumerate(self._replicas):
            if replica.outcome == "alive":
                continue
            fresh = self._new_replica(len(self._ended) + len(self._alive()))
            self._replicas[place] = fresh
            weights = self._initial_weights(fresh)
            self._state = population_state.replace(self._state, place, weights)

    def _inherit(self) -> None:
        """Replaces those who lag most by heirs of those who lead: they go on from the same weights
        with other data, other noise and a learning rate of their own. Who leads is a matter of the
        last validation: one that was better before has weights that are no better for an heir."""
        sources = list(range(len(self._replicas)))
        order = sorted(sources, key=lambda place: self._replicas[place].progress())
        rng = np.random.default_rng((self.config.seed, self._updates))
        for rank in range(int(_LEADING_SHARE * len(order))):
            place, source = order[rank], order[-1 - rank]
            leader, laggard = self._replicas[source], self._replicas[place]
            if not leader.is_far_ahead_of(laggard, self.config.heirs_behind):
                continue
            laggard.outcome = "taken over"
            self._ended.append(laggard)
            number = len(self._ended) + len(self._alive())
            self._replicas[place] = dataclasses.replace(
                leader,
                seed=self._new_replica(number).seed,
                heir_of=leader.seed,
                rate=leader.rate * float(np.exp(_RATE_SPREAD * rng.standard_normal())),
            )
            sources[place] = source
        self._state = population_state.take(self._state, sources)
        self._best_weights = {name: w[sources] for name, w in self._best_weights.items()}

    def _is_done_early(self, replica: Replica) -> bool:
        """Whether a restart is right, and sure enough, before its time is up."""
        sure = min(replica.best.soft_confidence, replica.best.rounded_confidence)
        enough = self.config.done_when_sure
        return enough is not None and replica.best.solved and sure >= enough

    def _is_over(self, replica: Replica) -> bool:
        """Whether a restart's life is."""
        return replica.age >= self.config.lifetime or self._is_done_early(replica)

    def _outcome(self, replica: Replica) -> str:
        if replica.latest.diverged:
            return "diverged"
        if self._is_over(replica):
            if not replica.best.solved:
                return "learned by heart" if replica.knows_by_heart else "not solved"
            if self._in_a_row is not None and replica.in_a_row < 1:
                return "failed in a row"
            return "solved" if self._exam is None or replica.grade.passed else "failed the exam"
        accuracy = max(replica.best.soft_accuracy, replica.best.rounded_accuracy)
        if replica.age >= self.config.lifetime / 2 and accuracy < self.config.hopeless_below:
            return "hopeless"
        return "alive"


def _bits_of(weights: Iterable[np.ndarray]) -> float:
    """What weights take to be written down: the fewer of them and the smaller, the less."""
    return float(sum(np.log2(1 + np.abs(weight) / _WEIGHT_STEP).sum() for weight in weights))


def _of_finite_set(replica: Replica) -> dict[str, float]:
    """What is reported of a replica where what it learns from is all there is."""
    values = {"bits": replica.bits, "learned_accuracy": replica.learned}
    return {name: value for name, value in values.items() if value is not None}
