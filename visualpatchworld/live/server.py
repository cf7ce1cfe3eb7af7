"""The page on this machine alone: a few files over HTTP, wishes and answers over one WebSocket per tab, one thread that does the work."""

from __future__ import annotations

import asyncio
import logging
import queue
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

from visualpatchworld.errors import VpwError, printable
from visualpatchworld.extras import need
from visualpatchworld.live.picture import motion_text, said_text, world_text
from visualpatchworld.live.session import Session, saved, search
from visualpatchworld.live.wish import DEEDS, MOST_CHARACTERS, SAVE, Refused, Wish, read_wish

HERE = Path(__file__).parent
LOOPBACK = "127.0.0.1"
FILES = {
    "/": ("page.html", "text/html; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/scene.js": ("scene.js", "text/javascript; charset=utf-8"),
    "/charts.js": ("charts.js", "text/javascript; charset=utf-8"),
}
SOCKET = "/socket"
MOST_TABS = 16
LAST_WORK_S = 3.0  # that closing waits for
POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self' ws://{host}; frame-ancestors 'none'"


class CannotServe(VpwError):
    """A port that is taken."""


@dataclass(frozen=True)
class Saving:
    """Where edited programs go."""

    folder: Path
    stem: str


def serve(session: Session, saving: Saving, port: int, ready: Callable[[str], None] = lambda url: None) -> bool:
    """Serve a session until Ctrl-C or SIGTERM; `ready` gets the page's address. False where work was still going on in the end."""
    need("live")
    worker = Worker(session, saving)
    # The first plan is compiled while somebody looks around.
    warming = threading.Thread(target=_warm_up, args=(session,), daemon=True, name="warming")
    if len(session.truth.action_space):
        warming.start()
    asyncio.run(_run(worker, port, ready))
    return worker.finish() and not warming.is_alive()


def _warm_up(session: Session) -> None:
    with suppress(Exception):  # whoever asks for a plan is told what is wrong
        search(session)


class Worker:
    """One thread that makes one session after the other, since a world takes one step at a time. Wishes wait; of those alike the last."""

    def __init__(self, session: Session, saving: Saving):
        self.session = session
        self._saving = saving
        self._waiting: list[Wish] = []
        self._lock = threading.Lock()
        self._some: queue.Queue[bool] = queue.Queue()
        self.answer: Callable[[str], None] = lambda text: None
        self._thread = threading.Thread(target=self._work, daemon=True, name="live")
        self._thread.start()

    def ask(self, wish: Wish) -> None:
        """Let a wish wait its turn."""
        with self._lock:
            for i, other in enumerate(self._waiting):
                if wish.replaces is not None and other.replaces == wish.replaces:
                    self._waiting[i] = wish
                    return
            self._waiting.append(wish)
        self._some.put(True)

    def finish(self) -> bool:
        """End after the present wish; whether that came soon."""
        self._some.put(False)
        self._thread.join(LAST_WORK_S)
        return not self._thread.is_alive()

    def _work(self) -> None:
        while self._some.get():
            with self._lock:
                wish = self._waiting.pop(0)
            self.answer(self._fulfilled(wish))

    def _fulfilled(self, wish: Wish) -> str:
        try:
            if wish.do == SAVE:
                path = saved(self.session, self._saving.folder, self._saving.stem)
                return said_text(f"Saved as {path}.", wish.serial)
            self.session = DEEDS[wish.do](self.session, wish)
            return motion_text(self.session, wish.serial)
        except VpwError as error:
            return said_text(str(error), wish.serial)
        except Exception as error:  # whatever somebody's world or program raises must not end the page
            logging.getLogger(__name__).debug("a wish failed", exc_info=True)
            return said_text(printable(f"That did not work ({type(error).__name__}: {error})."), wish.serial)


async def _run(worker: Worker, port: int, ready: Callable[[str], None]) -> None:
    from websockets.asyncio.server import serve as serve_sockets

    loop, over = asyncio.get_running_loop(), asyncio.Event()
    for one in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError, RuntimeError, ValueError):  # not in the main thread
            loop.add_signal_handler(one, over.set)
    tabs: set[Any] = set()

    def tell(text: str) -> None:
        for tab in list(tabs):
            tasks.add(task := loop.create_task(_send(tab, text)))
            task.add_done_callback(tasks.discard)

    tasks: set[asyncio.Task[None]] = set()
    worker.answer = lambda text: _from_thread(loop, tell, text)

    async def attend(tab: Any) -> None:
        if len(tabs) >= MOST_TABS:
            await tab.close(1013, f"There are {MOST_TABS} tabs already.")
            return
        tabs.add(tab)
        try:
            await tab.send(world_text(worker.session))
            await tab.send(motion_text(worker.session))
            async for message in tab:
                worker.ask(read_wish(message, worker.session))
        except Refused as error:
            await tab.close(1008, str(error)[:100])
        finally:
            tabs.discard(tab)

    quiet = logging.getLogger("visualpatchworld.live.socket")
    quiet.addHandler(logging.NullHandler())
    quiet.propagate = False
    try:
        server = await serve_sockets(
            attend, LOOPBACK, port, process_request=_page, max_size=4 * MOST_CHARACTERS, logger=quiet, compression=None, server_header=None
        )
    except OSError as error:
        raise CannotServe(f"Port {port} cannot be used ({error.strerror or error}); choose another with --port.") from None
    async with server:
        taken = next(iter(server.sockets)).getsockname()[1]
        ready(f"http://{LOOPBACK}:{taken}/")
        await over.wait()
        server.close()


def _from_thread(loop: asyncio.AbstractEventLoop, tell: Callable[[str], None], text: str) -> None:
    with suppress(RuntimeError):  # the page was closed meanwhile
        loop.call_soon_threadsafe(tell, text)


async def _send(tab: Any, text: str) -> None:
    from websockets.exceptions import ConnectionClosed

    with suppress(ConnectionClosed):
        await tab.send(text)


def _page(connection: Any, request: Any) -> Any:
    """The answer to a request that opens no socket; one that another site's page makes of a browser gets none."""
    hosts = request.headers.get_all("Host")
    port = connection.local_address[1]
    if len(hosts) != 1 or hosts[0] not in (f"{LOOPBACK}:{port}", f"localhost:{port}"):
        return _response(HTTPStatus.FORBIDDEN, b"This page is for this machine alone.\n")
    if request.path == SOCKET:
        origins = request.headers.get_all("Origin")
        if origins and origins != [f"http://{hosts[0]}"]:
            return _response(HTTPStatus.FORBIDDEN, b"Another page may not use this one.\n")
        return None
    if request.path not in FILES:
        return _response(HTTPStatus.NOT_FOUND, b"There is nothing here.\n")
    name, kind = FILES[request.path]
    return _response(HTTPStatus.OK, (HERE / name).read_bytes(), kind, hosts[0])


def _response(status: HTTPStatus, body: bytes, kind: str = "text/plain; charset=utf-8", host: str = "") -> Any:
    from websockets.datastructures import Headers
    from websockets.http11 import Response

    headers = Headers(
        {
            "Content-Type": kind,
            "Content-Length": str(len(body)),
            "Content-Security-Policy": POLICY.format(host=host or LOOPBACK),
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cache-Control": "no-store",
            "Connection": "close",
        }
    )
    return Response(status.value, status.phrase, headers, body)
