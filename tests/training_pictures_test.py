"""The pictures of a run."""

from matplotlib import image
from training_case import tiny_config

from keras_stackrnn.training import pictures

PER_N = {n: 1.0 if n < 30 else 0.995 for n in range(1, 61)}


def test_the_picture_shows_both_lines_and_the_training_range(tmp_path):
    config = tiny_config(tmp_path, max_n=19)
    found = {
        "score": "sequences",
        "soft": {"per_n": PER_N},
        "rounded": {"per_n": dict.fromkeys(PER_N, 0.4)},
    }
    pictures.draw_accuracy(tmp_path, config, found)
    pixels = image.imread(tmp_path / "accuracy.png")
    assert pixels.shape == (540, 1050, 4)
    colours = {tuple((255 * pixel).round().astype(int)) for row in pixels for pixel in row[:, :3]}
    vermilion, shade = (213, 94, 0), (230, 230, 230)
    blue_over_white = (102, 170, 209)
    assert {vermilion, shade} <= colours
    assert any(
        max(abs(a - b) for a, b in zip(c, blue_over_white, strict=True)) < 3 for c in colours
    )
