"""Learns a task: `python train.py --task=anbn`, which is `keras-stackrnn train --task=anbn`."""

from keras_stackrnn import command_line
from keras_stackrnn.training import command

if __name__ == "__main__":
    command_line.run(command)
