"""What a training does not need it does not import: it runs where that cannot be imported.

In fresh processes, for imports stay. (Keras imports matplotlib itself, if it can.)
"""

import subprocess
import sys

from language_case import write_texts
from training_case import REPOSITORY

WITHOUT = """
import sys
for name in ("matplotlib", "ray", "tensorflow_datasets"):
    sys.modules[name] = None  # importing it is an ImportError
"""

ON_TEXT = """
import sys
sys.path.insert(0, "tests")
from language_case import tiny_config
from keras_stackrnn.training.language_task import LanguageTask

search = LanguageTask(tiny_config("rnn", train_file=sys.argv[1]), print).search()
search.advance()
assert search.status().updates
"""

ON_A_PATTERN = """
import sys
import train
sys.path.insert(0, "tests")
from training_case import tiny_config
from keras_stackrnn.training.search_task import SearchTask

task = SearchTask(tiny_config("unused"), print)
search = task.search()
search.advance()
assert search.status().updates and task.picture() is None
"""


def run_without(script: str, *arguments: str) -> None:
    """Runs a script where neither pictures can be drawn nor datasets be had."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT + script, *arguments],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_a_training_on_text_needs_neither_datasets_nor_pictures(tmp_path):
    run_without(ON_TEXT, write_texts(tmp_path)["train_file"])


def test_a_search_that_shows_no_memory_needs_neither_datasets_nor_pictures():
    run_without(ON_A_PATTERN)
