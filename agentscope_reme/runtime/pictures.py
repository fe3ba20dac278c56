"""The picture files of a workspace, for an embedding model that takes them."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final

from agentscope_reme.errors import BadInput, ModelFailed, NotFound, ReMeError, StorageFailed
from agentscope_reme.files.disk import Disk
from agentscope_reme.files.picture_types import image_type
from agentscope_reme.messages import DataBlock
from agentscope_reme.runtime.embedding_calls import EmbeddingCalls
from agentscope_reme.schema import content_hash
from agentscope_reme.store.base import BaseFileStore
from agentscope_reme.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture the index knows.

    Attributes:
        key: the text hash of its chunk.
        path: where a file with this content stands.
        content: the hash of its bytes.
    """

    key: str
    path: str
    content: str


class Pictures:
    """Which pictures have no vector yet, and their bytes.

    Args:
        workspace: where the files are.
        store: what the index knows of them.
        disk: how they are read.
        most_bytes: larger ones are not sent to a model.
    """

    def __init__(
        self, workspace: Workspace, store: BaseFileStore, disk: Disk, *, most_bytes: int
    ) -> None:
        self._workspace: Final = workspace
        self._store: Final = store
        self._disk: Final = disk
        self._most_bytes: Final = most_bytes

    def missing(self, space_id: str, limit: int, tried: Collection[str] = ()) -> list[Picture]:
        """Pictures without a vector in a space, but for those that were tried. Reads the store."""
        found = self._store.missing_pictures(space_id, limit + len(tried))
        return [Picture(*row) for row in found if row[0] not in tried][:limit]

    def pending(self, space_id: str) -> int:
        """How many pictures have no vector in a space. Reads the store."""
        return self._store.picture_counts(space_id)[1]

    def load(self, picture: Picture) -> DataBlock | None:
        """A picture as a model is shown it; ``None`` when another one stands there by now.

        Raises:
            BadInput: it is too large, or no picture.
            BadPath: the path leads out of the workspace.
            StorageFailed: it cannot be read.
        """
        data = self._bytes_of(picture)
        if data is None or content_hash(data) != picture.content:
            return None  # the index follows
        media_type = image_type(data)
        if media_type is None:
            raise BadInput(
                picture.path,
                "not a PNG, JPEG, GIF, WebP or BMP picture",
                "Convert it to one.",
            )
        return DataBlock(media_type=media_type, data=base64.b64encode(data).decode("ascii"))

    def _bytes_of(self, picture: Picture) -> bytes | None:
        """What stands at its path; ``None`` when nothing does."""
        place = self._workspace.locate_normalised(picture.path)
        try:
            size = place.stat().st_size
            if size > self._most_bytes:
                raise BadInput(
                    picture.path,
                    f"the picture has {size} bytes, more than {self._most_bytes}",
                    "Scale it down, or raise `Settings.embedded_picture_bytes`.",
                )
            return self._disk.read(place)
        except (NotFound, FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise StorageFailed(
                picture.path, f"it cannot be read: {error}", "Check its permissions."
            ) from error


async def vector_of_picture(
    pictures: Pictures,
    picture: Picture,
    calls: EmbeddingCalls,
    pass_over: Callable[[ReMeError], None],
) -> list[float] | None:
    """The vector of a picture nobody waits for.

    Args:
        pictures: where its bytes are.
        picture: the picture.
        calls: the model.
        pass_over: hears of a picture that cannot have a vector: it is no picture, or the model
            refuses it though it answers otherwise.

    Raises:
        ModelFailed: the model is down.
    """
    try:
        block = await asyncio.to_thread(pictures.load, picture)
        return None if block is None else (await calls.unhurried(calls.ask([block])))[0]
    except ModelFailed as error:
        await calls.prove_alive()
        pass_over(error)
    except ReMeError as error:
        pass_over(error)
    return None
