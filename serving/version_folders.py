"""The folder of a model's versions: what is in it, and which of them its policy picks."""

import pathlib
import re
from typing import NamedTuple

from tensorflow_serving.config import file_system_storage_path_source_pb2, model_server_config_pb2

Policy = file_system_storage_path_source_pb2.FileSystemStoragePathSourceConfig.ServableVersionPolicy


class Listing(NamedTuple):
    """What a base path holds.

    Attributes:
        versions: the folders by their numbers; every name that is no integer is ignored.
        doubles: of folders with the same number, which one counts, or an empty string.
    """

    versions: dict[int, pathlib.Path]
    doubles: str


def listed(base_path: str) -> Listing:
    """Lists a base path; OSError if that cannot be done."""
    versions, doubles = {}, []
    # The plain number comes before those with zeros in front.
    for child in sorted(pathlib.Path(base_path).iterdir(), key=lambda path: len(path.name)):
        if not (re.fullmatch("[0-9]{1,18}", child.name) and child.is_dir()):
            continue
        taken = versions.setdefault(int(child.name), child)
        if taken is not child:
            doubles.append(
                f"holds both {taken.name} and {child.name}, of which {taken.name} counts"
            )
    return Listing(versions, ", ".join(doubles))


def chosen(versions: dict[int, pathlib.Path], policy: Policy) -> dict[int, pathlib.Path]:
    """Returns the versions that a policy picks: the latest one by default."""
    choice = policy.WhichOneof("policy_choice")
    if choice == "all":
        return versions
    if choice == "specific":
        return {v: versions[v] for v in policy.specific.versions if v in versions}
    count = max(1, policy.latest.num_versions)
    return {version: versions[version] for version in sorted(versions)[-count:]}


def wanted(config: model_server_config_pb2.ModelConfig) -> dict[int, pathlib.Path]:
    """Returns the versions that can be loaded now; none of a folder that cannot be listed."""
    try:
        return chosen(listed(config.base_path).versions, config.model_version_policy)
    except OSError:
        return {}
