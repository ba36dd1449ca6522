"""A trace as flat rows, and these as CSV."""

import csv
import io
import math

from keras_stackrnn.trace.record import MemoryTrace, Trace


def rows_of(trace: Trace) -> list[dict]:
    """A flat dict for each symbol, with plain Python values; `None` is what is not known."""
    rows = []
    for step, symbol in enumerate(trace.symbols):
        probability = trace.probabilities[step].max()
        row = {
            "symbol": symbol,
            "next": trace.upcoming[step],
            "deterministic": None if trace.deterministic is None else trace.is_deterministic(step),
            "prediction": trace.predictions[step],
            "probability": _number(probability),
            "next_probability": _number(trace.next_probabilities[step]),
        }
        for states in trace.states:
            row[states.name] = states.taken[step]
            row[f"{states.name}.probability"] = float(states.probabilities[step].max())
        for memory in trace.memories:
            row |= _columns(memory, step)
        rows.append(row)
    return rows


def csv_of(trace: Trace) -> str:
    """The rows as CSV with a header."""
    rows = rows_of(trace)
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _short(value) for name, value in row.items()} for row in rows)
    return text.getvalue()


def _columns(memory: MemoryTrace, step: int) -> dict:
    columns = {"action": memory.actions[memory.weights[step].argmax()]}
    columns |= zip(memory.actions, map(float, memory.weights[step]), strict=True)
    columns["value"] = float(memory.values[step])
    named = {f"{memory.name}.{name}": value for name, value in columns.items()}
    for offset, element in zip(memory.offsets, memory.tops[step], strict=True):
        named[f"{memory.name}[{offset}]"] = float(element)
    if memory.vectors is not None:
        for offset, vector in zip(memory.offsets, memory.vectors[step], strict=True):
            for number, value in enumerate(vector):
                named[f"{memory.name}[{offset}].{number}"] = float(value)
    return named


def _short(value):
    # The digits that float32 has.
    return f"{value:.7g}" if isinstance(value, float) else value


def _number(value) -> float | None:
    return None if math.isnan(value) else float(value)
