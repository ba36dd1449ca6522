"""Opens the page to watch models think.

    python -m keras_stackrnn.playground
    python -m keras_stackrnn.playground --model=runs/anb2n
    python -m keras_stackrnn.playground --model=my.keras --model=127.0.0.1:8501/anbn
    python -m keras_stackrnn.playground --nobrowser --port=8600
    python -m keras_stackrnn.playground --write=/var/www/playground

The models of the gallery are there without any flag. The page is for this machine alone. --write
puts its files into a folder, for a web server that hands /v1 on to a TensorFlow Serving.
"""

import signal
import sys
import threading
import webbrowser
from pathlib import Path

from absl import flags, logging

from keras_stackrnn import command_line


def define_flags(values: flags.FlagValues = flags.FLAGS) -> None:
    """Adds the command's flags."""
    of = {"flag_values": values}
    flags.DEFINE_multi_string(
        "model",
        [],
        "Another model: a run's folder, a .keras file, a SavedModel's folder, or host:port/model "
        "of a server's REST API. May be given several times; the first one is shown first.",
        **of,
    )
    flags.DEFINE_integer("port", 0, "Port of the page; 0: any free one.", lower_bound=0, **of)
    flags.DEFINE_boolean("browser", True, "Open the page in the browser.", **of)
    flags.DEFINE_string("write", None, "Only write the page's files into this folder.", **of)


def main(arguments: list[str], values: flags.FlagValues = flags.FLAGS) -> None:
    """Runs the command until it is stopped; a fault ends it with one sentence."""
    logging.set_verbosity(logging.WARNING)
    if len(arguments) > 1:
        sys.exit(f"Everything is a flag, got {arguments[1]!r}.")
    try:
        if values.write is not None:
            from keras_stackrnn.playground.endpoint import write

            write(Path(values.write))
            print(f"The page is in {values.write}.")
        else:
            _play(values)
    except OSError as error:
        sys.exit(f"Cannot write {error.filename}: {error.strerror}.")
    except ValueError as error:
        sys.exit(str(error))


def _play(values: flags.FlagValues) -> None:
    from keras_stackrnn.playground.sources import Sources

    sources = Sources.of(values.model)

    from keras_stackrnn.playground.server import playing

    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    with playing(sources, values.port) as server:
        address = f"http://127.0.0.1:{server.rest_api_port}/"
        print(f"The playground is at {address}", "Ctrl-C ends it.", sep="\n", flush=True)
        if values.browser:
            webbrowser.open(address)
        stopping.wait()


if __name__ == "__main__":
    command_line.run(sys.modules[__name__])
