"""What a training is told: every value in one place, checked before anything runs."""

import dataclasses
from typing import ClassVar

from keras_stackrnn import memories, tasks
from keras_stackrnn.models import CONTROLLERS_ALONE, has_memory
from keras_stackrnn.tasks import files
from keras_stackrnn.tasks.imports import import_tasks
from keras_stackrnn.training import own_tasks, recipes
from keras_stackrnn.training.architecture import Architecture
from keras_stackrnn.training.cluster import address
from keras_stackrnn.training.config_base import Config, value

# It has no sigmoids, and each of its weights is of a state.
_OF_SECOND_ORDER = {"use_recurrent_kernel": True, "centred": False, "listening": 0.0}


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainingConfig(Config):
    """Everything that determines a run. `from_recipe` fills in what is not said.

    Example:

    >>> config = TrainingConfig.from_recipe("memorize", seed=7)
    >>> config.max_n
    19
    """

    RECIPES: ClassVar = recipes.RECIPES
    LATER: ClassVar = {
        **Config.LATER,
        **recipes.NOTHING_VARIES,
        "sequences_in_a_row": 0,
        "populations": 1,
        "cluster": None,
        "mixed_nodes": False,
        **dict.fromkeys(own_tasks.VALUES),
    }
    # Populations know nothing of one another.
    FREE_ON_RESUME: ClassVar = (
        *Config.FREE_ON_RESUME,
        "populations",
        "cluster",
        "mixed_nodes",
    )
    OF_TASK: ClassVar = own_tasks.VALUES

    # Tasks of one's own.
    imports: str | None = value(own_tasks.HELP["imports"], flag=own_tasks.FLAGS["imports"])
    train_file: str | None = value(own_tasks.HELP["train_file"])
    validation_file: str | None = value(own_tasks.HELP["validation_file"])
    test_file: str | None = value(own_tasks.HELP["test_file"])
    level: str | None = value(own_tasks.HELP["level"])
    columns: str | None = value(own_tasks.HELP["columns"])

    # What learns.
    use_recurrent_kernel: bool = value(
        "Whether hidden units see the ones before them; without, the memory is all there is."
    )
    rounding: bool = value("Whether the finished model takes the most probable action alone.")

    # What it reads.
    max_n: int = value(
        "Largest n, the size, to train and validate on; the task says which are for tests."
    )
    episode: int = value(
        "Windows of a lane that follow one another before it begins anew, empty.", above=0
    )
    first_max_n: int = value("Largest n that a restart begins with.", above=0)
    mastery: float = value("Share of symbols to get right before sequences grow.", least=0, most=1)
    only_deterministic: bool = value("Whether only predictable symbols make the loss.")
    validation_sequences: int = value("Validation sequences for each n.", above=0)
    exam_sequences: int = value(
        "Further validation sequences for each n, an exam at the end of a life; 0 for none.",
        least=0,
    )
    exam_confidence: float = value(
        "How sure a restart has to be of every symbol of its exam.", least=0, most=1
    )
    sequences_in_a_row: int = value(
        "Further validation sequences one after the other, the memory not emptied between them, "
        "that a restart has to be right on, rounded, at the end of its life; 0 for none.",
        least=0,
    )

    # How it searches.
    population: int = value("Random restarts, trained at once.", flag="restarts", above=0)
    populations: int = value("Populations of restarts; the first to solve the task wins.", above=0)
    cluster: str | None = value("Ray for populations: local, auto, HOST:PORT, ray://HOST:PORT.")
    mixed_nodes: bool = value(
        "Whether nodes of a cluster may differ in versions, XLA_FLAGS and CPU features; the result "
        "names them."
    )
    wanted: int = value("The search ends when so many restarts have solved the task.", above=0)
    updates: int = value("The search ends after so many updates.", above=0)
    lifetime: int = value("Updates of one restart.", above=0)
    hopeless_below: float = value(
        "Restarts below this accuracy at half their life are replaced.", least=0, most=1
    )
    inherit_every: int | None = value(
        "Updates after which restarts that lag go on from the weights of those that lead.", above=0
    )
    heirs_behind: int = value(
        "Lessons by which a restart has to lag behind the one that it goes on from; 0 for any lag, "
        "in accuracy too.",
        least=0,
    )
    done_when_sure: float | None = value(
        "Probability of every symbol of the validation with which a restart is done early.",
        above=0,
        most=1,
    )
    vary: float = value(
        "Factor by which a restart's learning rate, noise and initial weights may be larger or "
        "smaller; each draws its own.",
        least=1,
    )
    listening: float = value(
        "Share of the restarts in which each hidden unit listens to one symbol at first.",
        least=0,
        most=1,
    )
    noise_growth: float = value(
        "Factor for the noise at each update while the newest lesson goes well; else it shrinks.",
        least=1,
    )
    begin_with: str | None = value("Folder of a run, or .keras file, that all restarts begin with.")
    cooling: float = value(
        "Share of a restart's life, at its end, in which the rate falls.", above=0, most=1
    )
    clip_norm: float | None = value("Norm that a restart's gradient is cut to.", above=0)
    clip_value: float | None = value("Size that every number of a gradient is cut to.", above=0)
    action_noise: float = value("Standard deviation of the noise on the actions' logits.", least=0)
    initial_scale: float = value("Standard deviation of the initial weights.", above=0)

    @classmethod
    def from_recipe(cls, task, model=None, recipe=None, **given):
        import_tasks(given.get("imports"))
        return super().from_recipe(task, model, recipe, **given)

    @classmethod
    def check_task(cls, task: str) -> None:
        if task not in files.FORMS:
            tasks.get(task)

    @classmethod
    def model_for(cls, task: str) -> str:
        return recipes.model_for(task)

    @classmethod
    def defaults(cls, task: str, model: str, recipe: str, given: dict) -> dict:
        controller = given.get("controller", "simple")
        values = recipes.defaults(own_tasks.find(task, given), model, recipe, controller)
        values |= dict.fromkeys(own_tasks.VALUES)
        # Whoever chooses one way to clip does not want the recipe's as well.
        if "clip_value" in given and "clip_norm" not in given:
            values["clip_norm"] = None
        if "clip_norm" in given and "clip_value" not in given:
            values["clip_value"] = None
        return values

    def architecture(self, symbols: int, outputs: int | None = None) -> Architecture:
        architecture = super().architecture(symbols, outputs)
        # With a memory there are biases only to make up for what centring moves: see centring.py.
        # Pairs of a symbol and a state need none.
        has_bias = self.centred or (not has_memory(self.model) and architecture.decider.order == 1)
        return dataclasses.replace(
            architecture,
            use_recurrent_kernel=self.use_recurrent_kernel,
            use_bias=has_bias,
            centred=self.centred,
        )

    def learned_task(self) -> tasks.Task:
        """What is learned."""
        return own_tasks.find(self.task, {name: getattr(self, name) for name in own_tasks.VALUES})

    def __post_init__(self):
        import_tasks(self.imports)
        super().__post_init__()
        if self.cluster is not None:
            address.check(self.cluster)
        if self.updates_a_round % self.episode:
            raise ValueError(
                "updates_a_round must be a multiple of the windows of an episode, "
                f"{self.episode}, got {self.updates_a_round}."
            )
        self._check_n()
        self.check_memory("rounding")
        self._check_model()
        if (self.clip_norm is None) == (self.clip_value is None):
            raise ValueError(
                "Gradients are clipped either by clip_norm or by clip_value, "
                f"got {self.clip_norm} and {self.clip_value}."
            )

    def _check_n(self):
        task = self.learned_task()
        sizes = task.train_sizes
        if self.max_n not in sizes:
            raise ValueError(
                f"max_n must be from {sizes[0]}, the smallest n of {self.task!r}, to {sizes[-1]}, "
                f"because longer sequences are for tests, got {self.max_n}."
            )
        if self.sequences_in_a_row and not task.flows:
            raise ValueError(
                f"Each sequence of {self.task!r} begins with an empty memory: sequences_in_a_row "
                f"must be 0, got {self.sequences_in_a_row}."
            )
        if not task.flows and self.window < task.places(self.max_n):
            raise ValueError(
                f"A window holds whole sequences of {self.task!r}: window must be "
                f"{task.places(self.max_n)} or more for max_n={self.max_n}, got {self.window}."
            )

    def _check_model(self):
        if self.model not in (*CONTROLLERS_ALONE, *memories.names()):
            raise ValueError(
                f"model={self.model!r} learns text alone, got task {self.task!r}; rnn, for "
                "example, learns it."
            )
        if "second_order" in (self.model, self.controller):
            for name, needed in _OF_SECOND_ORDER.items():
                if getattr(self, name) != needed:
                    raise ValueError(
                        "A second-order controller looks its next state up by its last one, and "
                        f"has no sigmoids: {name} must be {needed}, got {getattr(self, name)}."
                    )
        if self.centred and (self.layers > 1 or not has_memory(self.model)):
            raise ValueError(
                "Networks of one layer with a memory are trained centred, got centred=True with "
                f"model={self.model!r} and layers={self.layers}."
            )
        if not has_memory(self.model) and not self.use_recurrent_kernel:
            raise ValueError(
                f"model={self.model!r} has nothing but its hidden units to remember with, "
                "got use_recurrent_kernel=False; stack, for example, can do without."
            )
