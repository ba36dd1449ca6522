"""Tests that public names say what they take, give and look like in use, and that this is so."""

import doctest
import importlib
import inspect
import re
import textwrap
from pathlib import Path

import keras
import numpy as np
import pytest

if keras.backend.backend() != "tensorflow":
    pytest.skip("the examples run on TensorFlow", allow_module_level=True)

import keras_stackrnn

# What there is of each is in its __all__.
MODULES = (
    "keras_stackrnn.export",
    "keras_stackrnn.extract",
    "keras_stackrnn.gallery",
    "keras_stackrnn.memories",
    "keras_stackrnn.ngram",
    "keras_stackrnn.patterns",
    "keras_stackrnn.tasks",
    "keras_stackrnn.trace",
    "keras_stackrnn.training",
)
# A decorator's result, or none, is what its summary says.
SAYS_IN_SUMMARY = {"recognition", "transduction", "register"}
# Examples that train for a minute or need a server; their names are checked where they are tested.
LONG = {"train", "export", "extract"}


def public():
    """The layers, cells and models, and the functions of the public modules."""
    for name in keras_stackrnn.__all__:
        thing = getattr(keras_stackrnn, name)
        if inspect.isclass(thing):
            yield name, thing
    for module in map(importlib.import_module, MODULES):
        for name in module.__all__:
            if inspect.isfunction(thing := getattr(module, name)):
                yield f"{module.__name__}.{name}", thing


PUBLIC = dict(public())
with_name = pytest.mark.parametrize("name", PUBLIC)


@with_name
def test_public_names_say_what_they_take_and_give(name):
    thing = PUBLIC[name]
    text = inspect.getdoc(thing)
    assert re.match(r"[^\n]+\.( |\n|$)", text), "a summary"
    assert ">>> " in text or "```python" in text, "an example"
    if inspect.isclass(thing):
        return
    if inspect.signature(thing).parameters:
        assert "Args:" in text
        for parameter in inspect.signature(thing).parameters:
            assert re.search(rf"^ +\W*\b{parameter}\b.*:", text, re.MULTILINE), parameter
    assert "Returns:" in text or name.rpartition(".")[2] in SAYS_IN_SUMMARY


EXAMPLES = {
    name: block
    for name, thing in PUBLIC.items()
    if name.rpartition(".")[2] not in LONG
    for block in re.findall(r"```python\n(.*?)```", inspect.getdoc(thing), re.DOTALL)
}


@pytest.mark.parametrize("name", [name for name in EXAMPLES if "." not in name])
def test_examples_of_layers_and_cells_run(name):
    names = {"keras": keras, "keras_stackrnn": keras_stackrnn, "np": np}
    names |= {each: getattr(keras_stackrnn, each) for each in keras_stackrnn.__all__}
    exec(textwrap.dedent(EXAMPLES[name]), names)
    shapes = re.findall(r"# The (\w+) have shape `(.*?)`", EXAMPLES[name])
    assert all(names[of].shape == eval(shape) for of, shape in shapes)


def with_doctests():
    """The modules whose docstrings have interactive examples and need nothing that runs."""
    root = Path(keras_stackrnn.__file__).parent
    for path in sorted(root.rglob("*.py")):
        name = ".".join(("keras_stackrnn", *path.relative_to(root).with_suffix("").parts))
        if ".serving." not in name and ">>> " in path.read_text(encoding="utf-8"):
            yield name.removesuffix(".__init__")


@pytest.mark.parametrize("name", list(with_doctests()))
def test_interactive_examples_are_what_happens(name):
    found = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert found.attempted
    assert found.failed == 0
