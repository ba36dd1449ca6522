"""`python -m keras_stackrnn` is `keras-stackrnn`."""

from keras_stackrnn.cli import main

if __name__ == "__main__":
    main()
