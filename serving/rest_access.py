"""Who may ask over HTTP: a page in a browser can send requests to any address it can reach."""

import dataclasses
import ipaddress
from urllib.parse import urlsplit

from aiohttp import web

from keras_stackrnn.serving.rest_connections import HttpError

_LOCAL_NAMES = ("localhost",)


def is_loopback(host: str) -> bool:
    """Whether nobody but this machine can connect to an address or a name."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host in _LOCAL_NAMES


@dataclasses.dataclass(frozen=True)
class Access:
    """The rules.

    Attributes:
        host: the address that is listened on.
        allowed_hosts: names that requests may be sent to, besides `host` and any address; with none
            given, a server on loopback answers to `localhost` alone, and others to every name.
        allowed_origins: pages, such as "http://localhost:3000", that may ask from elsewhere.
        requires_json: whether a POST has to say that it is `application/json`.
    """

    host: str = "127.0.0.1"
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    requires_json: bool = False

    def check(self, request: web.BaseRequest) -> None:
        """Raises HttpError if a request may not be answered."""
        host = request.headers.get("Host")
        if host is not None and not self._is_ours(host):
            raise HttpError(403, f"Requests for the host {host!r} are not answered here")
        origin = request.headers.get("Origin")
        if origin is not None and not self._is_same(origin, host) and not self._is_allowed(origin):
            raise HttpError(403, f"Requests from pages of {origin!r} are not answered")
        if (
            self.requires_json
            and request.method == "POST"
            and request.content_type != "application/json"
        ):
            sentence = f"Expected the content type 'application/json', got {request.content_type!r}"
            raise HttpError(415, sentence)

    def headers(self, request: web.BaseRequest) -> dict[str, str]:
        """The headers that let a browser hand an answer to a page from elsewhere."""
        origin = request.headers.get("Origin")
        if origin is None or not self._is_allowed(origin):
            return {}
        return {
            "Access-Control-Allow-Origin": origin,
            "Access-Control-Allow-Methods": "GET, POST",
            "Access-Control-Allow-Headers": "Content-Type",
            "Vary": "Origin",
        }

    def _is_ours(self, host: str) -> bool:
        name = _name(host)
        # A page gets to an address under a name of its own only by way of DNS.
        if name is None or _is_address(name):
            return name is not None
        if not self.allowed_hosts and not is_loopback(self.host):
            return True
        return name in {*_LOCAL_NAMES, self.host.lower(), *map(str.lower, self.allowed_hosts)}

    def _is_allowed(self, origin: str) -> bool:
        return origin in self.allowed_origins

    def _is_same(self, origin: str, host: str | None) -> bool:
        try:
            parts = urlsplit(origin)
        except ValueError:
            return False
        return parts.scheme in ("http", "https") and parts.netloc.lower() == (host or "").lower()


def _name(host: str) -> str | None:
    try:
        return (urlsplit(f"//{host}").hostname or "").rstrip(".") or None
    except ValueError:
        return None


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
