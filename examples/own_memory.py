"""A memory of your own: a stack that can also copy its top, from training to a server's answer.

python examples/own_memory.py --task=anbn --output_dir=runs/own_memory
"""

from pathlib import Path

from absl import app, flags

from keras_stackrnn import trace
from keras_stackrnn.memories import FROM_LEFT, NO_OP, STAYS, VALUE, Action, Zipper, register
from keras_stackrnn.serving import config as serving_config
from keras_stackrnn.serving.server import ModelServer, ServerOptions
from keras_stackrnn.trace.exported import trace_server
from keras_stackrnn.training import TrainingConfig, train

COPYING_STACK = register(
    Zipper(
        "copying_stack",
        (
            Action("PUSH", left=+1, right=0, head=VALUE),
            Action("POP", left=-1, right=0, head=FROM_LEFT),
            Action("DUPLICATE", left=+1, right=0, head=STAYS),
            NO_OP,
        ),
    )
)

TASK = flags.DEFINE_string("task", "anbn", "What to learn.")
OUTPUT_DIR = flags.DEFINE_string("output_dir", "runs/own_memory", "Where the run is kept.")
TEXT = flags.DEFINE_string("text", "aaabbb", "What to read afterwards.")
UPDATES = flags.DEFINE_integer("updates", 4800, "How long to train at most.")


def main(_):
    config = TrainingConfig.from_recipe(
        TASK.value, COPYING_STACK.name, output_dir=OUTPUT_DIR.value, updates=UPDATES.value
    )
    model = train(config, overwrite=True).model
    print(trace(model, TEXT.value).to_text())

    models = Path(config.output_dir) / "serving" / config.task
    served = serving_config.single_model(config.task, models)
    with ModelServer(ServerOptions(served, port=0)) as server:
        address = f"127.0.0.1:{server.port}"
        answer = trace_server(address, config.task, TEXT.value, deterministic=config.task)
        print(answer.to_text())


if __name__ == "__main__":
    app.run(main)
