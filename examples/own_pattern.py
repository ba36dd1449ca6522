"""A task of your own: a pattern that is registered, searched for, tested and looked at.

python examples/own_pattern.py
"""

from keras_stackrnn import patterns, trace
from keras_stackrnn.training import Result, TrainingConfig, train


@patterns.register(
    "palindrome", alphabet="01=.", smallest_n=1, n_means="half its length", example="01=[10.]"
)
def palindrome(n, draw):
    """A word, a mark, and the word in reverse: what comes after the mark can be predicted."""
    word = "".join(draw.choice("01") for _ in range(n))
    return word + "=", word[::-1] + "."


def main(output_dir: str = "runs/palindrome", **values) -> Result:
    """Trains as `keras-stackrnn train` does; `values` are those of its flags."""
    config = TrainingConfig.from_recipe("palindrome", output_dir=output_dir, **values)
    result = train(config, overwrite=True)
    print(trace(result.model, "0110=0110.", rounding=True).to_text())
    return result


if __name__ == "__main__":
    main()
