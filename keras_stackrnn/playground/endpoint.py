"""The page over HTTP, and what it may ask beside models: which there are, and tasks' sequences."""

import asyncio
import json
import mimetypes
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote

from aiohttp import web

from keras_stackrnn import gallery
from keras_stackrnn.playground import sequences
from keras_stackrnn.serving import json_tensors
from keras_stackrnn.serving.rest_connections import HttpError, json_response
from keras_stackrnn.serving.service import Service
from keras_stackrnn.trace.page import DRAWING

PAGE = Path(__file__).parent / "page"
_TASK = re.compile(r"/page/tasks/(?P<name>.+)")
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}
# What the system's own table says of these differs from one to the next.
_TYPES = {".js": "text/javascript", ".css": "text/css", ".json": "application/json"}


def files() -> dict[str, Path]:
    """The page's files by their addresses, which are relative to where it is put."""
    return {
        "": PAGE / "index.html",
        **{f"page/{path.name}": path for path in PAGE.iterdir() if path.suffix != ".html"},
        **{f"page/drawing/{path.name}": path for path in DRAWING.iterdir()},
    }


class PageEndpoint:
    """`GET /`, and what is below `/page/`.

    Args:
        service: has the models.
        timeout_seconds: bounds nothing here; endpoints are made with it.
        further: names of models that are answered for elsewhere.
    """

    def __init__(self, service: Service, timeout_seconds: float, further: tuple[str, ...] = ()):
        self._service = service
        self._further = further
        self._files = files()

    def takes(self, method: str, path: str) -> bool:
        return path == "/" or path.startswith("/page/")

    async def answer(
        self, request: web.BaseRequest, body: bytes, headers: Mapping[str, str]
    ) -> web.StreamResponse:
        _refuse_other_pages(request)
        method = "GET" if request.method == "HEAD" else request.method
        if match := _TASK.fullmatch(request.path):
            name = unquote(match["name"])
            response = json_response(await self._task(method, name, request, body), 200)
        elif method != "GET":
            raise HttpError(405, f"{method} is not for {request.path}", Allow="GET")
        elif request.path == "/page/models.json":
            response = json_response({"models": self._models()}, 200)
        else:
            response = self._file(request.path.removeprefix("/"))
        response.headers.update(_HEADERS)
        return response

    def _file(self, address: str) -> web.Response:
        path = self._files.get(address)
        if path is None:
            raise HttpError(404, f"There is no /{address}")
        kind = _TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0]
        return web.Response(body=path.read_bytes(), content_type=kind, charset="utf-8")

    def _models(self) -> list[dict[str, str]]:
        """The gallery's models first, whose entries say what there is to see."""
        served = (*self._service.models.names(), *self._further)
        known = [name for name in gallery.names() if name in served]
        shows = {name: gallery.about(name).shows for name in known}
        others = [name for name in served if name not in known]
        return [{"name": name, "shows": shows.get(name, "")} for name in (*others, *known)]

    async def _task(self, method: str, name: str, request: web.BaseRequest, body: bytes) -> dict:
        try:
            if method == "POST":
                if request.content_type != "application/json":
                    raise HttpError(415, "Expected the content type 'application/json'")
                texts = json_tensors.parse(body).get("texts")
                return await asyncio.to_thread(sequences.read, name, texts)
            if method != "GET":
                raise HttpError(405, f"{method} is not for {request.path}", Allow="GET, POST")
            asked = request.query
            if "size" in asked:
                return await asyncio.to_thread(
                    sequences.drawn, name, asked["size"], asked.get("seed", "0")
                )
            return await asyncio.to_thread(sequences.about, name)
        except ValueError as error:
            # Also what is no JSON.
            raise HttpError(400, str(error)) from None


def _refuse_other_pages(request: web.BaseRequest) -> None:
    """A page from elsewhere may lead here, but not load parts of this one: for what it loads by a
    tag a browser names no origin, and says this instead."""
    site = request.headers.get("Sec-Fetch-Site", "none")
    if request.path != "/" and site not in ("none", "same-origin"):
        raise HttpError(403, "Requests from pages of other sites are not answered")


def write(folder: Path) -> None:
    """Writes the page to be served as it is, beside the REST API of a TensorFlow Serving."""
    for address, path in files().items():
        target = folder / (address or path.name)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    (folder / "page" / "models.json").write_text(json.dumps({"models": []}), encoding="utf-8")
