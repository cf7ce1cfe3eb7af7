"""The page on this machine alone: a few files over HTTP, wishes and answers over one WebSocket per tab,
one thread that does the work.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import queue
import signal
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple

from visualpatchworld.errors import VpwError, printable
from visualpatchworld.extras import need
from visualpatchworld.live import session as sessions
from visualpatchworld.live.drawing import motion_text, said_text, world_text
from visualpatchworld.live.session import Session, saved, search

MOST_CHARACTERS = 300  # of what is asked at once
LARGEST = 1e12
MOST_EPISODES = 100_000


class Refused(VpwError):
    """Something that no page of ours asks for."""


class Wish(NamedTuple):
    """What is asked for: its name, which dial, field, step or episode it is about, and a value where one is set."""

    do: str
    number: int = 0
    value: float = 0.0
    serial: int = 0  # the page's own count, so that it knows which answer is to which wish

    @property
    def replaces(self) -> tuple[str, int] | None:
        """Of several wishes alike only the last counts: where a dial or a goal is, not where it came through."""
        return (self.do, self.number) if self.do in ("turn", "aim") else None


# Each makes the next session of one; the limits of `number` are in `_LIMITS`.
DEEDS: dict[str, Callable[[Session, Wish], Session]] = {
    "turn": lambda session, wish: sessions.turned(session, wish.number, wish.value),
    "back": lambda session, wish: sessions.turned_back(session, [wish.number]),
    "back_all": lambda session, wish: sessions.turned_back(session, range(len(session.dials))),
    "aim": lambda session, wish: sessions.aimed(session, wish.number, wish.value),
    "aimless": lambda session, wish: sessions.aimless(session),
    "plan": lambda session, wish: sessions.planned(session, wish.number),
    "step": lambda session, wish: sessions.stepped(session, wish.number),
    "perturb": lambda session, wish: sessions.perturbed(session, wish.number),
    "episode": lambda session, wish: sessions.begun(session, wish.number),
    "look": lambda session, wish: sessions.looking(session, wish.number),
}
SAVE = "save"
_LIMITS: dict[str, Callable[[Session], int]] = {
    "turn": lambda session: len(session.dials) - 1,
    "back": lambda session: len(session.dials) - 1,
    "aim": lambda session: len(session.goal.values) - 1,
    "plan": lambda session: session.horizon,
    "step": lambda session: session.horizon,
    "perturb": lambda session: session.horizon,
    "episode": lambda session: min(MOST_EPISODES, session.truth.num_episodes or MOST_EPISODES) - 1,
    "look": lambda session: max(sessions.HORIZONS),
}


def read_wish(text: str | bytes, session: Session) -> Wish:
    """The wish that a message holds, each number of it within its limits; otherwise `Refused` says what is wrong."""
    if not isinstance(text, str) or len(text) > MOST_CHARACTERS:
        raise Refused("A wish is a short text.")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise Refused("A wish is JSON.") from None
    if not isinstance(found, dict) or not found.keys() <= set(Wish._fields):
        raise Refused(f"A wish has no other parts than {', '.join(Wish._fields)}.")
    do = found.get("do")
    if not isinstance(do, str) or do not in (*DEEDS, SAVE):
        raise Refused("There is no such wish.")
    wish = Wish(do, _whole(found.get("number", 0)), _number(found.get("value", 0.0)), _whole(found.get("serial", 0)))
    most = _LIMITS.get(do, lambda _: 0)(session)
    if not 0 <= wish.number <= most:
        raise Refused(f"The number of '{do}' lies between 0 and {most}.")
    return wish


def _whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > LARGEST:
        raise Refused("A number of something is a whole number.")
    return value


def _number(value: Any) -> float:
    if (
        not isinstance(value, (int, float))
        or isinstance(value, bool)
        or not math.isfinite(value)
        or abs(value) > LARGEST
    ):
        raise Refused("A value is a finite number.")
    return float(value)


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
MOST_WAITING = 32  # wishes of one tab; a person clicks slower than they are done
MOST_UNREAD = 64  # answers that a tab has not taken yet
LAST_WORK_S = 3.0  # that closing waits for
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self' "
    "ws://{host}; frame-ancestors 'none'"
)


class TooMany(VpwError):
    """More wishes than one tab may have waiting."""


class CannotServe(VpwError):
    """A port that is taken."""


@dataclass(frozen=True)
class Saving:
    """Where edited programs go."""

    folder: Path
    stem: str


def serve(session: Session, saving: Saving, port: int, ready: Callable[[str], None] = lambda url: None) -> bool:
    """Serve a session until Ctrl-C or SIGTERM; `ready` gets the page's address.
    False where work was still going on in the end.
    """
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
    """One thread that makes one session after the other, since a world takes one step at a time. Wishes wait;
    of those alike the last.
    """

    def __init__(self, session: Session, saving: Saving):
        self.session = session
        self._saving = saving
        self._waiting: list[tuple[Any, Wish]] = []  # with the tab that each is from
        self._lock = threading.Lock()
        self._some: queue.Queue[bool] = queue.Queue()
        self.answer: Callable[[str], None] = lambda text: None
        self._thread = threading.Thread(target=self._work, daemon=True, name="live")
        self._thread.start()

    def ask(self, wish: Wish, tab: Any = None) -> None:
        """Let a tab's wish wait its turn, unless too many of its wishes wait already."""
        with self._lock:
            for i, (_, other) in enumerate(self._waiting):
                if wish.replaces is not None and other.replaces == wish.replaces:
                    self._waiting[i] = (tab, wish)
                    return
            if sum(owner is tab for owner, _ in self._waiting) >= MOST_WAITING:
                raise TooMany(f"{MOST_WAITING} wishes of this page are waiting already; this one is left out.")
            self._waiting.append((tab, wish))
        self._some.put(True)

    def finish(self) -> bool:
        """End after the present wish; whether that came soon."""
        self._some.put(False)
        self._thread.join(LAST_WORK_S)
        return not self._thread.is_alive()

    def _work(self) -> None:
        while self._some.get():
            with self._lock:
                _, wish = self._waiting.pop(0)
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


class Tabs:
    """The open tabs, each with the answers that it has not taken yet; one that takes none is closed."""

    def __init__(self) -> None:
        self.open: set[Any] = set()
        self._sending: dict[asyncio.Task[None], Any] = {}  # by task, the tab

    def tell(self, text: str) -> None:
        """Send a text to every tab; in the thread of the loop."""
        for tab in list(self.open):
            if sum(other is tab for other in self._sending.values()) < MOST_UNREAD:
                self._begin(tab, _send(tab, text))
            else:
                self.open.discard(tab)
                self._begin(tab, tab.close(1008, "This tab does not take its answers."))

    def _begin(self, tab: Any, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._sending[task] = tab
        task.add_done_callback(lambda done: self._sending.pop(done, None))


async def _run(worker: Worker, port: int, ready: Callable[[str], None]) -> None:
    from websockets.asyncio.server import serve as serve_sockets

    loop, over = asyncio.get_running_loop(), asyncio.Event()
    for one in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError, RuntimeError, ValueError):  # not in the main thread
            loop.add_signal_handler(one, over.set)
    tabs = Tabs()
    worker.answer = lambda text: _from_thread(loop, tabs.tell, text)

    async def attend(tab: Any) -> None:
        if len(tabs.open) >= MOST_TABS:
            await tab.close(1013, f"There are {MOST_TABS} tabs already.")
            return
        tabs.open.add(tab)
        try:
            await tab.send(world_text(worker.session))
            await tab.send(motion_text(worker.session))
            async for message in tab:
                wish = read_wish(message, worker.session)
                try:
                    worker.ask(wish, tab)
                except TooMany as error:
                    await tab.send(said_text(str(error), wish.serial))
        except Refused as error:
            await tab.close(1008, str(error)[:100])
        finally:
            tabs.open.discard(tab)

    quiet = logging.getLogger("visualpatchworld.live.socket")
    quiet.addHandler(logging.NullHandler())
    quiet.propagate = False
    try:
        server = await serve_sockets(
            attend,
            LOOPBACK,
            port,
            process_request=_page,
            max_size=4 * MOST_CHARACTERS,
            logger=quiet,
            compression=None,
            server_header=None,
        )
    except OSError as error:
        raise CannotServe(
            f"Port {port} cannot be used ({error.strerror or error}); choose another with --port."
        ) from None
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
