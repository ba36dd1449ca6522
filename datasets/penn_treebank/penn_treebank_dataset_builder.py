"""Penn Treebank in Mikolov's preprocessing, by word and by character."""

import dataclasses
from collections.abc import Callable
from typing import ClassVar

import numpy as np
import tensorflow_datasets.public_api as tfds
from etils import epath

from keras_stackrnn import text_symbols
from keras_stackrnn.datasets.penn_treebank import corpus, source


@dataclasses.dataclass(eq=False)
class SymbolConfig(tfds.core.BuilderConfig):
    """What a token is: `split` cuts a line into its symbols."""

    split: Callable[[str], list[str]] | None = None


class VocabularyMetadata(tfds.core.MetadataDict):
    """Metadata whose vocabulary is written as a text file too, one symbol a line."""

    def save_metadata(self, data_dir):
        super().save_metadata(data_dir)
        lines = "".join(f"{symbol}\n" for symbol in self["vocabulary"])
        (epath.Path(data_dir) / "vocabulary.txt").write_text(lines)


class Builder(tfds.core.GeneratorBasedBuilder):
    """Builder of penn_treebank."""

    VERSION = tfds.core.Version("1.0.0")
    RELEASE_NOTES: ClassVar = {"1.0.0": "Initial release."}
    BUILDER_CONFIGS: ClassVar = [
        SymbolConfig(
            name="word",
            description="Words: 10,000 of them, `<unk>` and `<eos>` included.",
            split=text_symbols.split_into_words,
        ),
        SymbolConfig(
            name="char",
            description="Characters of the words and of the spaces between them, and `<eos>`.",
            split=text_symbols.split_into_characters,
        ),
    ]
    MANUAL_DOWNLOAD_INSTRUCTIONS = source.INSTRUCTIONS

    def _info(self) -> tfds.core.DatasetInfo:
        return self.dataset_info_from_configs(
            features=tfds.features.FeaturesDict(
                {
                    "text": tfds.features.Text(),
                    "tokens": tfds.features.Tensor(shape=(None,), dtype=np.int32),
                }
            ),
            homepage="https://catalog.ldc.upenn.edu/LDC99T42",
            disable_shuffling=True,
            metadata=VocabularyMetadata(),
        )

    def _split_generators(self, dl_manager: tfds.download.DownloadManager):
        contents = source.read_files(
            checksums={
                info.filename: (info.size, info.checksum) for info in self.url_infos.values()
            },
            manual_folder=_manual_folder(dl_manager),
            download_folder=dl_manager.download_dir / self.name,
        )
        lines = {
            split: corpus.read_lines(contents[name]) for split, name in corpus.FILE_OF_SPLIT.items()
        }
        vocabulary = text_symbols.make_vocabulary(lines["train"], self.builder_config.split)
        self.info.metadata["vocabulary"] = vocabulary
        ids = {symbol: token for token, symbol in enumerate(vocabulary)}
        return {split: self._generate_examples(lines[split], ids) for split in lines}

    def _generate_examples(self, lines: list[str], ids: dict[str, int]):
        for number, line in enumerate(lines):
            tokens = text_symbols.encode(self.builder_config.split(line), ids)
            yield number, {"text": line, "tokens": tokens}


def _manual_folder(dl_manager: tfds.download.DownloadManager) -> epath.Path | None:
    try:
        return dl_manager.manual_dir
    except AssertionError:  # TFDS' way of saying that there is none, or that it is empty
        return None
