"""Installs a wheel into an empty environment, and has its gallery drawn there: `make dist`."""

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

COMMANDS = (
    ["keras-stackrnn", "--version"],
    ["keras-stackrnn", "trace", "--model=gallery:anb2n", "--text=aabbbb"],
    ["keras-stackrnn", "trace", "--model=gallery:anb2n", "--text=aabbbb", "--output=actions.png"],
    ["keras-stackrnn", "trace", "--model=gallery:anb2n", "--text=aabbbb", "--output=trace.html"],
    ["keras-stackrnn", "evaluate", "--model=gallery:anbn", "--n=1-5", "--sequences=5"],
)


def main(wheel: str) -> None:
    """Fails with the output of the first command that does."""
    with tempfile.TemporaryDirectory() as folder:
        environment = Path(folder, "environment")
        venv.create(environment, with_pip=True)
        programs = environment / "bin"
        run([programs / "python", "-m", "pip", "install", "--quiet", wheel], folder)
        for program, *arguments in COMMANDS:
            print(run([programs / program, *arguments], folder), end="", flush=True)
        for name in ("actions.png", "trace.html"):
            if Path(folder, name).stat().st_size < 5000:
                sys.exit(f"{name} is too small to show anything.")


def run(command: list, folder: str) -> str:
    """What a command prints; nothing may reach stderr but what pip has to say."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode or (done.stderr and "pip" not in command):
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main(str(Path(sys.argv[1]).resolve()))
