"""Which operations of a SavedModel touch files: a SavedModel is a program, and this is what it says
of itself before it is run."""

import pathlib
from collections.abc import Iterable, Iterator

from google.protobuf import message
from tensorflow.core.framework import node_def_pb2
from tensorflow.core.protobuf import meta_graph_pb2, saved_model_pb2

from keras_stackrnn.serving import status

_FILE = "saved_model.pb"
_SERVE_TAG = "serve"
# Collections and signatures in which a SavedModel names what is run when it is loaded.
_INIT_COLLECTIONS = ("saved_model_main_op", "legacy_init_op")
_INIT_SIGNATURE = "__saved_model_init_op"
# What every SavedModel's variables are restored with.
_RESTORE = "RestoreV2"

_NAMES = """
ReadFile WriteFile MatchingFiles MatchingFilesDataset Save SaveSlices SaveV2 Restore
RestoreSlice RestoreV2 MergeV2Checkpoints WholeFileReader WholeFileReaderV2 TextLineReader
TextLineReaderV2 FixedLengthRecordReader FixedLengthRecordReaderV2 TFRecordReader
TFRecordReaderV2 LMDBReader LMDBDataset TextLineDataset TFRecordDataset TFRecordDatasetV2
FixedLengthRecordDataset FixedLengthRecordDatasetV2 CSVDataset CSVDatasetV2 SqlDataset
SnapshotDataset SnapshotDatasetV2 SnapshotDatasetReader SnapshotChunkDataset CacheDataset
CacheDatasetV2 SaveDataset SaveDatasetV2 LoadDataset ListSnapshotChunksDataset
DatasetToTFRecord ImmutableConst InitializeTableFromTextFile InitializeTableFromTextFileV2
LoadAndRemapMatrix GenerateVocabRemapping CreateSummaryFileWriter CreateSummaryDbWriter
DebugIdentity DebugIdentityV2 DebugIdentityV3 DebugNanCount DebugNumericSummary
FileSystemSetConfiguration DataServiceDataset DataServiceDatasetV2 DataServiceDatasetV3
DataServiceDatasetV4
"""
OPERATIONS = frozenset(_NAMES.split())


def file_operations(path: str | pathlib.Path) -> list[str]:
    """Returns the names of the operations that touch files and that a server would run.

    Restoring the variables when the model is loaded is not among them, and what would save them
    is never run.

    Args:
        path: folder with `saved_model.pb`.

    Raises:
        ServingError: there is no such file, or it is not a SavedModel.
    """
    file = pathlib.Path(path) / _FILE
    try:
        saved_model = saved_model_pb2.SavedModel.FromString(file.read_bytes())
    except OSError as error:
        raise status.not_found(f"Cannot read the SavedModel {file}: {error.strerror}") from error
    except message.DecodeError as error:
        raise status.invalid_argument(f"{file} is not a SavedModel") from error
    found = set()
    for meta_graph in saved_model.meta_graphs:
        if _SERVE_TAG in meta_graph.meta_info_def.tags:
            found |= _operations(meta_graph, _asked(meta_graph))
            restoring = [meta_graph.saver_def.restore_op_name]
            found |= _operations(meta_graph, restoring) - {_RESTORE}
    return sorted(found)


def _asked(meta_graph: meta_graph_pb2.MetaGraphDef) -> Iterator[str]:
    """What requests ask for, and what is run at once when the model is loaded."""
    for signature in meta_graph.signature_def.values():
        for info in (*signature.outputs.values(), *signature.inputs.values()):
            yield info.name
    for name in _INIT_COLLECTIONS:
        yield from meta_graph.collection_def[name].node_list.value


def _operations(meta_graph: meta_graph_pb2.MetaGraphDef, roots: Iterable[str]) -> set[str]:
    nodes = {node.name: node for node in meta_graph.graph_def.node}
    functions = {f.signature.name: f for f in meta_graph.graph_def.library.function}
    waiting, seen = [nodes[name] for name in map(_node_name, roots) if name in nodes], set()
    called, found = set(), set()
    while waiting:
        node = waiting.pop()
        if node.op in OPERATIONS or _prints_into_a_file(node):
            found.add(node.op)
        for name in _functions_of(node) & functions.keys() - called:
            called.add(name)
            waiting.extend(functions[name].node_def)
        # Names within functions are others, and their bodies count as a whole.
        for name in map(_node_name, node.input):
            if name in nodes and name not in seen:
                seen.add(name)
                waiting.append(nodes[name])
    return found


def _functions_of(node: node_def_pb2.NodeDef) -> set[str]:
    names = {node.op}
    for attribute in node.attr.values():
        names.add(attribute.func.name)
        names.update(each.name for each in attribute.list.func)
    return names


def _prints_into_a_file(node: node_def_pb2.NodeDef) -> bool:
    return node.op == "PrintV2" and node.attr["output_stream"].s.startswith(b"file://")


def _node_name(name: str) -> str:
    return name.removeprefix("^").partition(":")[0]
