"""Signals: noted once, then as before; and those that are ignored stay so."""

import signal

import pytest

from keras_stackrnn.training import InterruptedRunError
from keras_stackrnn.training.interrupts import Interrupts

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(autouse=True)
def hangups_are_heard():
    """Also where the tests themselves were started with nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_a_signal_ends_the_run_when_it_is_asked(number):
    before = [signal.getsignal(each) for each in SIGNALS]
    with Interrupts("the command") as interrupts:
        interrupts.check()
        signal.raise_signal(number)
        with pytest.raises(InterruptedRunError, match=r"go on with: the command$") as raised:
            interrupts.check()
        interrupts.pending = None
    assert raised.value.signal_number == number
    assert [signal.getsignal(each) for each in SIGNALS] == before


def test_a_run_that_nohup_has_started_outlives_its_terminal():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Interrupts("the command") as interrupts:
            signal.raise_signal(signal.SIGHUP)
            interrupts.check()
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
