"""Several populations: each is the search of a seed, and the first to solve the task wins."""

import dataclasses
import io
from pathlib import Path

import pytest
from training_case import assert_same_arrays, tiny_config

from keras_stackrnn.training import populations, run_folder, train
from keras_stackrnn.training.interrupts import Interrupts
from keras_stackrnn.training.populations import Populations
from keras_stackrnn.training.sweep.cores import Cores
from keras_stackrnn.training.sweep.view import Notes


def with_outcomes(folder, *outcomes, **values):
    """Populations of which the first have ended already."""
    config = tiny_config(folder, populations=len(outcomes), **values)
    for number, outcome in enumerate(outcomes):
        if outcome is not None:
            solved, rank = outcome
            found = {"solved": solved, "rank": rank, "updates": 40, "seconds": 90.0}
            found["done"] = solved or config.minutes is None
            of_one = Path(populations.of_number(config, number).output_dir)
            of_one.mkdir(parents=True)
            run_folder.write_outcome(of_one, found)
    return Populations(config, Cores(), Notes(print))


def search(several):
    with Interrupts("again") as interrupts:
        several.search(interrupts)
    return several


def test_the_best_of_two_is_the_run_that_it_is_alone(tmp_path):
    config = tiny_config(tmp_path / "two", populations=2)
    output = io.StringIO()

    result = train(config, output=output)

    first, second = result.evaluation["populations"]
    assert (first["number"], first["seed"]) == (0, config.seed)
    assert (second["number"], second["seed"]) == (1, populations.seed_of(config.seed, 1))
    assert [first["solved"], second["solved"]] == [False, False]
    [words] = [line for line in output.getvalue().splitlines() if line.startswith("None has")]
    winner = int(words.removesuffix(" of 2.").rpartition(" ")[2])
    values = {"populations": 1, "output_dir": str(tmp_path / "alone")}
    of_one = dataclasses.replace(populations.of_number(config, winner), **values)
    alone = train(of_one, output=io.StringIO())
    assert_same_arrays(result.model.get_weights(), alone.model.get_weights())
    assert result.evaluation["restarts"] == alone.evaluation["restarts"]
    written = (tmp_path / "two" / run_folder.METRICS).read_text().splitlines()
    assert len(written) == len((tmp_path / "alone" / run_folder.METRICS).read_text().splitlines())

    # It has ended: nothing is left to be searched, and the same comes of it.
    again = train(config, resume=True, output=io.StringIO())
    assert_same_arrays(again.model.get_weights(), result.model.get_weights())


def test_population_0_is_the_search_that_there_is_without_others(tmp_path):
    config = tiny_config(tmp_path, populations=3)

    zero = populations.of_number(config, 0)

    assert dataclasses.replace(zero, output_dir=config.output_dir, populations=3) == config
    assert (
        len({populations.seed_of(seed, number) for seed in range(9) for number in range(9)}) == 81
    )


def test_the_first_that_solved_it_wins_and_those_after_it_are_not_run(tmp_path):
    several = search(with_outcomes(tmp_path, (False, [9.0]), (True, [1.0]), None, (True, [2.0])))

    assert several.winner == 1
    assert several.words() == "The first to solve it is population 1 of 4."
    assert [each["number"] for each in several.about()["populations"]] == [0, 1]
    assert not (tmp_path / "populations/2").exists()


def test_if_none_has_solved_it_the_best_wins_and_of_equals_the_first(tmp_path):
    outcomes = (False, [0.5, -2.0]), (False, [0.5, -1.0]), (False, [0.5, -1.0])
    several = search(with_outcomes(tmp_path, *outcomes, minutes=1.5))

    assert several.winner == 1
    assert "None has solved it" in several.words()
    assert [each["number"] for each in several.about()["populations"]] == [0, 1, 2]


def test_with_more_minutes_a_search_goes_on(tmp_path):
    with_outcomes(tmp_path, (False, [0.0]), minutes=1.5)
    config = populations.of_number(tiny_config(tmp_path, minutes=1.5), 0)

    assert run_folder.read_outcome(config) is not None
    assert run_folder.read_outcome(dataclasses.replace(config, minutes=1.6)) is None
    assert run_folder.read_outcome(dataclasses.replace(config, minutes=None)) is None


@pytest.mark.parametrize("populations", [0, -1])
def test_no_populations_are_a_sentence(tmp_path, populations):
    with pytest.raises(ValueError, match=f"populations must be above 0, got {populations}"):
        tiny_config(tmp_path, populations=populations)


@pytest.mark.parametrize("cluster", ["", "here", "http://host:1", "host", "ray://host"])
def test_a_cluster_that_is_no_address_is_a_sentence(tmp_path, cluster):
    with pytest.raises(ValueError, match="must be local, auto, HOST:PORT or ray://HOST:PORT, got"):
        tiny_config(tmp_path, cluster=cluster)
