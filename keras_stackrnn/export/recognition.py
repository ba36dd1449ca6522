"""The signatures of a recognizer: a text in, its label out; also by way of Classify."""

import tensorflow as tf
from tensorflow_serving.apis import classification_pb2, prediction_log_pb2

from keras_stackrnn.export.signatures import TEXT, Signature, Signatures
from keras_stackrnn.export.tensors import softmax

# The feature of a `tf.Example` that holds the text.
FEATURE = "text"
_EXAMPLES = tf.TensorSpec([None], tf.string, "inputs")


class ClassifySignature(Signature):
    """A signature that TensorFlow Serving's Classify asks for; its Predict may as well."""

    method = tf.saved_model.CLASSIFY_METHOD_NAME

    def log(self, model, name):
        request = classification_pb2.ClassificationRequest()
        request.model_spec.name = model
        request.model_spec.signature_name = name
        for example in self.request["inputs"].numpy():
            request.input.example_list.examples.add().ParseFromString(example)
        log = prediction_log_pb2.PredictionLog()
        log.classify_log.request.CopyFrom(request)
        return log


class RecognizerSignatures(Signatures):
    """All that a recognizer can be asked. V are the labels."""

    def untraced(self):
        text = self.request_of_text()
        label = Signature(self.classify_text, [TEXT], text)
        feature = tf.train.Feature(bytes_list=tf.train.BytesList(value=text["text"].numpy()))
        example = tf.train.Example(features=tf.train.Features(feature={FEATURE: feature}))
        examples = {"inputs": tf.constant([example.SerializeToString()])}
        classify = ClassifySignature(self.classify, [_EXAMPLES], examples)
        return {
            "serving_default": label,
            "classify_text": label,
            "classify": classify,
            **super().untraced(),
        }

    def classify_text(self, text):
        """The label of each text.

        Returns:
            `label` `[B]`, the most probable; and `labels` `[B, V]`, all of them, with their
            `probabilities` `[B, V]`.
        """
        probabilities = self._probabilities(text)
        labels = tf.constant(self._reader.model.answers)
        return {
            "label": tf.gather(labels, tf.argmax(probabilities, axis=-1)),
            "labels": tf.tile(labels[None], [tf.shape(text)[0], 1]),
            "probabilities": probabilities,
        }

    def classify(self, inputs):
        """The same as TensorFlow Serving's Classify asks for it.

        Args:
            inputs: `[B]`, serialized messages `tf.Example` with the text as their feature `text`.

        Returns:
            `classes` `[B, V]`, the labels, and `scores` `[B, V]`, their probabilities.
        """
        features = {FEATURE: tf.io.FixedLenFeature([], tf.string)}
        outputs = self.classify_text(tf.io.parse_example(inputs, features)[FEATURE])
        return {"classes": outputs["labels"], "scores": outputs["probabilities"]}

    def _probabilities(self, text):
        reading = self._reading(text)
        hiddens = self._read(reading.tokens, reading.lengths)
        return softmax(self._reader.logits(reading.of_last(hiddens)))
