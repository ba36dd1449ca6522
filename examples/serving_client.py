"""A client in Python: predictions, symbol by symbol, and a text that goes on.

python examples/serving_client.py                      # starts a server of its own
python examples/serving_client.py 127.0.0.1:8500 anbn  # asks yours
"""

import contextlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from keras_stackrnn import gallery
from keras_stackrnn.export import export
from keras_stackrnn.serving import config
from keras_stackrnn.serving.client import Client
from keras_stackrnn.serving.server import ModelServer, ServerOptions


@contextlib.contextmanager
def server() -> Iterator[tuple[str, str]]:
    """A server in this process with a model of the gallery: its address, and the model's name."""
    with tempfile.TemporaryDirectory() as folder:
        models = Path(folder, "anbn")
        export(gallery.load("anbn"), models)
        with ModelServer(ServerOptions(config.single_model("anbn", models), port=0)) as running:
            yield f"127.0.0.1:{running.port}", "anbn"


def main(address: str, name: str) -> bytes:
    """Asks, and returns what comes after aaab."""
    with Client(address, name) as client:
        answer = client.predict(["aaab", "aaabbb"])
        print("after aaab comes", answer["next_symbol"][0].decode())

        session = client.session()  # its state travels with each call
        for symbol in "aab":
            [probabilities] = session.step([["ab".index(symbol)]])["probabilities"]
            print(f"read {symbol}: a {probabilities[0]:.3f}, b {probabilities[1]:.3f}")

        print("aaab goes on with", client.generate(["aaab"], max_symbols=6, seed=1)[0])
        return answer["next_symbol"][0]


if __name__ == "__main__":
    with contextlib.ExitStack() as stack:
        main(*(sys.argv[1:] or stack.enter_context(server())))
