"""What the bits of a run depend on besides its configuration, and how nodes differ in it."""

import functools
import hashlib
import os
import platform
from pathlib import Path

import keras_stackrnn
from keras_stackrnn.training.versions import versions

# Of the features of a processor, those that compilers make use of.
_INSTRUCTIONS = ("sse", "ssse", "avx", "fma", "f16c", "bmi", "amx")


@functools.cache
def description() -> dict[str, str]:
    """This node's, in words that can be compared."""
    return {
        **{f"version of {name}": version for name, version in versions().items()},
        "source of keras_stackrnn": _digest_of_source(),
        "XLA_FLAGS": os.environ.get("XLA_FLAGS", ""),
        "machine": platform.machine(),
        "CPU features": _cpu_features(),
    }


def differences(node: str, here: dict[str, str], other: str, there: dict[str, str]) -> list[str]:
    """A sentence for each thing that two nodes differ in."""
    return [
        f"Node {node} has another {name} than node {other}: {here.get(name)!r}, not {value!r}"
        for name, value in there.items()
        if here.get(name) != value
    ]


def _cpu_features() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    for line in lines:
        name, _, values = line.partition(":")
        if name.strip() == "flags":
            return " ".join(sorted(v for v in values.split() if v.startswith(_INSTRUCTIONS)))
        if name.strip() == "Features":
            return " ".join(sorted(values.split()))
    return platform.processor()


def _digest_of_source() -> str:
    folder, digest = Path(keras_stackrnn.__file__).parent, hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(str(path.relative_to(folder)).encode() + path.read_bytes())
    return digest.hexdigest()[:12]
