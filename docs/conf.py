"""How Sphinx makes the documentation: `make docs`.

The source is the repository as it is, so that links between its files lead somewhere on the
website and everywhere else.
"""

import importlib
import inspect
import os
import re
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
REPOSITORY = Path(__file__).parents[1]
sys.path.insert(0, str(REPOSITORY))

project = "keras_stackrnn"
author = "the keras_stackrnn developers"
copyright = author
release = re.search(r'^version = "(.*)"', (REPOSITORY / "pyproject.toml").read_text(), re.M)[1]

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "docs/index"
include_patterns = [
    "docs/*.md",
    "notebooks/*.ipynb",
    "results/*.md",
    "serving/README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
]
exclude_patterns = [".*", "**/.*", "bazel-*", "build", "dist", "runs"]

html_theme = "furo"
html_title = f"{project} {release}"
html_extra_path = ["root"]
html_theme_options = {"navigation_with_keys": True}
# Nothing comes from another host: the search is a script, and the fonts are the reader's.
html_show_sphinx = False
html_copy_source = False

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
# Links to programs and folders lead into the repository, and not to pages.
suppress_warnings = ["myst.xref_missing"]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
maximum_signature_line_length = 88
default_role = "code"
napoleon_use_ivar = True
napoleon_custom_sections = [("Call arguments", "params_style")]

# The notebooks hold no outputs: they are executed when the documentation is made.
nb_execution_mode = "cache"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_output_stderr = "remove"  # what TensorFlow says when it starts


def markdown_to_rst(app, what, name, thing, options, lines: list[str]) -> None:
    """Docstrings are Keras': their code stands between fences."""
    del app, what, name, thing, options
    found, inside = [], False
    # Names of several arguments that go on on the next line, and code with an s behind it.
    text = re.sub(r"^( *(?:\w+, )*\w+,)\n +(?=[\w, ]+:)", r"\1 ", "\n".join(lines), flags=re.M)
    for line in re.sub(r"(`[^`\n]+`)(?=\w)", r"\1\\ ", text).split("\n"):
        if line.strip().startswith("```"):
            if not inside:
                language = line.strip().removeprefix("```") or "text"
                indent = line[: len(line) - len(line.lstrip())]
                found += [f"{indent}.. code-block:: {language}", ""]
            else:
                found.append("")
            inside = not inside
        else:
            found.append(f"    {line}" if inside and line.strip() else line)
    lines[:] = found


def signature_of_layer(app, what, name, thing, options, signature, returns):
    """Keras makes its objects in a way that hides what they take. Types are said in the text, and
    regularizers and constraints, of which there is one for each weight, once."""
    del app, name, options
    if what != "class" or signature is None or not signature.startswith("(*args"):
        return None
    _, *parameters = inspect.signature(thing.__init__).parameters.values()
    shown = [
        each.replace(annotation=inspect.Parameter.empty)
        for each in parameters
        if not each.name.endswith(("_regularizer", "_constraint"))
    ]
    return str(inspect.Signature(shown)), returns


def setup(app) -> None:
    """Called by Sphinx."""
    app.connect("autodoc-process-signature", signature_of_layer)
    # Before napoleon, which makes sections of what is left.
    app.connect("autodoc-process-docstring", markdown_to_rst, priority=400)
    app.connect("source-read", list_every_page)
    write_commands(Path(__file__).parent / "commands.md")


def list_every_page(app, page: str, source: list[str]) -> None:
    """A guide that the index does not name comes last."""
    del app
    if page != root_doc:
        return
    named = source[0].split()
    pages = [path.stem for path in sorted(Path(__file__).parent.glob("*.md"))]
    others = [each for each in pages if each not in (*named, "index")]
    source[0] = source[0].replace("\nreproducing\n", "\n".join(["", "reproducing", *others, ""]))


def write_commands(page: Path) -> None:
    """The page on commands is what they say of themselves."""
    from absl import flags

    from keras_stackrnn import cli, command_line

    parts = ["# Commands", "", f"```text\n{cli.overview()}\n```"]
    for name, command in cli.COMMANDS.items():
        module = importlib.import_module(command.module)
        values = flags.FlagValues()
        own = command_line.define(module, values)
        text = command_line.help_of(module, values, own, f"keras-stackrnn {name}", full=True)
        parts.append(f"## {name}\n\n```text\n{text}\n```")
    page.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
