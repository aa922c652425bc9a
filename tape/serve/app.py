"""The routes of ``tape serve``, and what each request needs: a key, a name of this host, a body within bounds."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, RootModel, ValidationError
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from tape.budget import LedgerError
from tape.errors import ConfigError, TapeError
from tape.gateway.page_serving import page_file
from tape.gateway.tokens import is_here
from tape.reading import parse_json
from tape.serve.chat import ChatRequest, chunks, completion, first_chunk, models, require_answer
from tape.serve.deps import Asked
from tape.serve.keys import Key
from tape.serve.page import ServePage
from tape.serve.player import RunRefusedError
from tape.serve.records import RunRecord
from tape.serve.runs import BUSY, Runs

MOST_BODY_BYTES = 1 << 20
BODY_SECONDS = 20.0
"""For a whole body to arrive."""
BEAT_SECONDS = 15.0
"""Between two signs of life of a stream in which nothing happens."""
RETRY_SECONDS = 2
LEAVE_SECONDS = 0.5
"""Between two looks whether a client is still there."""

B = TypeVar("B", bound=BaseModel)
Answer = Callable[[Request, Key], Awaitable[Response]]


class RunRequest(BaseModel):
    """The body of ``POST /runs``.

    Attributes:
        agent: Its name; may be left out where there is one agent.
        task: In words.
        metadata: For ``deps``.
        continues: The run that it goes on with.
    """

    model_config = ConfigDict(extra="forbid")
    agent: str = ""
    task: str
    metadata: dict[str, Any] = Field(default_factory=dict)
    continues: str = ""


class DecisionRequest(BaseModel):
    """The body of ``POST /runs/ID/approve``."""

    model_config = ConfigDict(extra="forbid", strict=True)
    question: str
    allow: bool


class ResolutionRequest(BaseModel):
    """The body of ``POST /runs/ID/resolve``: whether the call of an unknown effect was made, and what it returned."""

    model_config = ConfigDict(extra="forbid", strict=True)
    done: bool
    result: Any = None


class ActRequest(RootModel[dict[str, str]]):
    """The body of ``POST /act``, from the page."""


class Routes:
    """The routes over some runs.

    Args:
        runs: The runs.
        hosts: Names of this host that requests may have, beside those of loopback.
    """

    def __init__(self, runs: Runs, hosts: Sequence[str] = ()) -> None:
        self._runs, self._hosts = runs, {host.lower() for host in hosts}
        self._page = ServePage(runs)
        self._ending: set[asyncio.Future[Any]] = set()
        self.ready = True

    def app(self) -> Starlette:
        """The application."""
        told: list[tuple[str, str, Callable[[Request], Awaitable[Response]]]] = [
            ("/", "GET", self._open),
            ("/healthz", "GET", self._alive),
            ("/readyz", "GET", self._ready),
        ]
        asked: list[tuple[str, str, Answer]] = [
            ("/v1/models", "GET", self._models),
            ("/v1/chat/completions", "POST", self._chat),
            ("/runs", "POST", self._begin),
            ("/runs", "GET", self._list),
            ("/runs/{id}", "GET", self._read),
            ("/runs/{id}", "DELETE", self._delete),
            ("/runs/{id}/events", "GET", self._events),
            ("/runs/{id}/approve", "POST", self._approve),
            ("/runs/{id}/resolve", "POST", self._resolve),
            ("/runs/{id}/cancel", "POST", self._cancel),
            ("/metrics", "GET", self._metrics),
            ("/state", "GET", self._state),
            ("/act", "POST", self._act),
        ]
        routes = [Route(path, endpoint, methods=[method]) for path, method, endpoint in told]
        routes += [Route(path, self._with_key(answer), methods=[method]) for path, method, answer in asked]
        return Starlette(routes=routes, exception_handlers={404: _no_such_path, 405: _no_such_method})

    # --- every request --------------------------------------------------------------------------

    def _with_key(self, answer: Answer) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            if (foreign := self._foreign(request)) is not None:
                return foreign
            key = self._runs.keys.of(request.headers.get("authorization", ""))
            if key is None:
                return refusal(401, "invalid_api_key", "send a key (Authorization: Bearer ...)")
            try:
                return await answer(request, key)
            except RunRefusedError as error:
                return refusal(error.status, error.code, str(error))
            except ClientDisconnect:
                return Response(status_code=499)

        return endpoint

    def _foreign(self, request: Request) -> Response | None:
        """The refusal of what comes by another name of this host, or from a page of another site."""
        hosts, origins = request.headers.getlist("host"), request.headers.getlist("origin")
        if len(hosts) != 1 or not (is_here(hosts[0]) or hosts[0].rpartition(":")[0].lower() in self._hosts
                                   or hosts[0].lower() in self._hosts):  # fmt: skip
            return refusal(403, "host", "this server goes by another name")
        if any(origin.lower() not in (f"http://{hosts[0]}", f"https://{hosts[0]}") for origin in origins):
            return refusal(403, "origin", "pages of other sites are not served")
        return None

    # --- the page for people ----------------------------------------------------------------------

    async def _open(self, request: Request) -> Response:
        return self._foreign(request) or page_file("tape serve")

    async def _state(self, request: Request, key: Key) -> Response:
        self._require_people(key)
        id = request.query_params.get("question")
        state = await self._page.state(key) if id is None else self._page.question(key, id)
        if state is None:
            raise RunRefusedError(404, "not_found", "this run does not wait any more")
        return JSONResponse(state, headers={"cache-control": "no-store"})

    async def _act(self, request: Request, key: Key) -> Response:
        self._require_people(key)
        what = (await _body(request, ActRequest)).root
        try:
            return JSONResponse({"done": await self._page.act(key, what)})
        except (ConfigError, LedgerError) as error:
            raise RunRefusedError(409, "act", str(error)) from None

    @staticmethod
    def _require_people(key: Key) -> None:
        if not key.approves:
            raise RunRefusedError(403, "may_not_approve", "this key does not open the page; one that approves does")

    # --- what is told without a key ---------------------------------------------------------------

    async def _alive(self, request: Request) -> Response:
        del request
        return PlainTextResponse("alive\n")

    async def _ready(self, request: Request) -> Response:
        del request
        return PlainTextResponse("ready\n") if self.ready else PlainTextResponse("stopping\n", 503)

    # --- OpenAI's protocol ------------------------------------------------------------------------

    async def _models(self, request: Request, key: Key) -> Response:
        del request, key
        return JSONResponse(models([*self._runs.agents]))

    async def _chat(self, request: Request, key: Key) -> Response:
        chat = await _body(request, ChatRequest)
        asked, continues = chat.asked(key.name, request.headers.get("traceparent", "")[:100])
        record = self._runs.begin(key, asked, idempotency_key=_idempotency(request), continues=continues)
        leaves = request.headers.get("on-leave", "") == "cancel"
        if chat.stream:
            return _stream(self._ended_by_leaving(self._chunks(record, chat), key, record.id) if leaves
                           else self._chunks(record, chat))  # fmt: skip
        while leaves and (record := await self._runs.ended(record.id, LEAVE_SECONDS)).state in BUSY:
            if await request.is_disconnected():
                await self._runs.cancel(key, record.id)
        record = await self._runs.ended(record.id)
        require_answer(record)
        return JSONResponse(completion(record), headers={"x-run-id": record.id})

    async def _ended_by_leaving(self, pieces: AsyncIterator[str], key: Key, id: str) -> AsyncIterator[str]:
        """A stream, with which its run ends where the client leaves before."""
        whole = False
        try:
            async for piece in pieces:
                yield piece
            whole = True
        finally:
            if not whole:
                self._ending.add(ending := asyncio.ensure_future(self._runs.cancel(key, id)))
                ending.add_done_callback(self._ending.discard)

    async def _chunks(self, record: RunRecord, chat: ChatRequest) -> AsyncIterator[str]:
        yield _data(first_chunk(record))
        while (record := await self._runs.ended(record.id, BEAT_SECONDS)).state in BUSY:
            yield ": working\n\n"
        try:
            require_answer(record)
        except RunRefusedError as error:
            yield _data(error_of(error.status, error.code, str(error)))
        else:
            for piece in chunks(record, chat.stream_options):
                yield _data(piece)
        yield "data: [DONE]\n\n"

    # --- runs -----------------------------------------------------------------------------------

    async def _begin(self, request: Request, key: Key) -> Response:
        body = await _body(request, RunRequest)
        agent = body.agent or (next(iter(self._runs.agents)) if len(self._runs.agents) == 1 else "")
        asked = Asked(agent, body.task, key.name, body.metadata, request.headers.get("traceparent", "")[:100])
        record = self._runs.begin(key, asked, idempotency_key=_idempotency(request), continues=body.continues)
        return JSONResponse(record.told(), 202, headers={"location": f"/runs/{record.id}"})

    async def _list(self, request: Request, key: Key) -> Response:
        del request
        return JSONResponse({"object": "list", "data": [record.told() for record in self._runs.listed(key)]})

    async def _read(self, request: Request, key: Key) -> Response:
        return JSONResponse(self._runs.read(key, request.path_params["id"]).told())

    async def _delete(self, request: Request, key: Key) -> Response:
        id = request.path_params["id"]
        await self._runs.delete(key, id)
        return JSONResponse({"id": id, "object": "run", "deleted": True})

    async def _cancel(self, request: Request, key: Key) -> Response:
        return JSONResponse((await self._runs.cancel(key, request.path_params["id"])).told())

    async def _approve(self, request: Request, key: Key) -> Response:
        body = await _body(request, DecisionRequest)
        record = self._runs.decide(key, request.path_params["id"], body.question, allow=body.allow)
        return JSONResponse(record.told())

    async def _resolve(self, request: Request, key: Key) -> Response:
        body = await _body(request, ResolutionRequest)
        record = self._runs.resolve(key, request.path_params["id"], done=body.done, result=body.result)
        return JSONResponse(record.told())

    async def _events(self, request: Request, key: Key) -> Response:
        id = request.path_params["id"]
        self._runs.read(key, id)
        given = request.headers.get("last-event-id") or request.query_params.get("after") or "-1"
        if not given.removeprefix("-").isascii() or not given.removeprefix("-").isdigit() or len(given) > 15:
            raise RunRefusedError(400, "after", "after= is the number of an event")

        async def told() -> AsyncIterator[str]:
            events = self._runs.events(key, id, int(given))
            coming = asyncio.ensure_future(anext(events, None))
            try:
                while True:
                    if not (await asyncio.wait([coming], timeout=BEAT_SECONDS))[0]:
                        yield ": waiting\n\n"
                        continue
                    event = coming.result()
                    if event is None:
                        return
                    number = f"id: {event['seq']}\n" if event["type"] not in ("run", "question") else ""
                    yield f"{number}event: {event['type']}\n{_data(event)}"
                    coming = asyncio.ensure_future(anext(events, None))
            finally:
                coming.cancel()

        return _stream(told())

    async def _metrics(self, request: Request, key: Key) -> Response:
        del request
        if not key.watches:
            raise RunRefusedError(403, "may_not_watch", "this key may not read the metrics")
        lines = ["# HELP tape_runs_ended_total Runs that have ended.", "# TYPE tape_runs_ended_total counter"]
        for (owner, agent, state), count in sorted(self._runs.counts.items()):
            lines.append(f'tape_runs_ended_total{{key="{owner}",agent="{agent}",end_state="{state}"}} {count}')
        lines += ["# HELP tape_runs_open Runs that have not ended.", "# TYPE tape_runs_open gauge"]
        for state, count in sorted(self._runs.open().items()):
            lines.append(f'tape_runs_open{{state="{state}"}} {count}')
        return PlainTextResponse("\n".join(lines) + "\n")


def error_of(status: int, code: str, message: str) -> dict[str, Any]:
    """An error in OpenAI's form."""
    kind = "invalid_request_error" if status < 500 else "server_error"
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def refusal(status: int, code: str, message: str) -> Response:
    """The answer to a request that is not fulfilled."""
    headers = {"retry-after": str(RETRY_SECONDS)} if status == 429 else {}
    headers |= {"www-authenticate": "Bearer"} if status == 401 else {}
    return JSONResponse(error_of(status, code, message), status, headers=headers)


async def _no_such_path(request: Request, error: Exception) -> Response:
    del error
    return refusal(404, "not_found", f"there is nothing at {request.url.path[:200]}")


async def _no_such_method(request: Request, error: Exception) -> Response:
    del error
    return refusal(405, "method", f"{request.method} is not answered at {request.url.path[:200]}")


def _idempotency(request: Request) -> str:
    given = request.headers.get("idempotency-key", "")
    if len(given) > 255:
        raise RunRefusedError(400, "idempotency", "an Idempotency-Key has at most 255 characters")
    return given


async def _body(request: Request, kind: type[B]) -> B:
    """The body of a request.

    Raises:
        RunRefusedError: It is too long, comes too slowly, or is no JSON of the kind.
    """
    held = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for part in request.stream():
                held += part
                if len(held) > MOST_BODY_BYTES:
                    raise RunRefusedError(413, "too_large", f"a request has at most {MOST_BODY_BYTES} bytes")
    except TimeoutError:
        raise RunRefusedError(408, "too_slow", f"a request arrives within {BODY_SECONDS:g} s") from None
    try:
        return kind.model_validate(parse_json(held.decode("utf-8"), "the body"))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the body"
        raise RunRefusedError(400, "invalid_body", f"{where}: {first['msg']}") from None
    except (TapeError, UnicodeDecodeError) as error:
        raise RunRefusedError(400, "invalid_body", f"the body is no JSON: {str(error)[:200]}") from None


def _data(value: Mapping[str, Any]) -> str:
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n"


def _stream(pieces: AsyncIterator[str]) -> Response:
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(pieces, media_type="text/event-stream", headers=headers)
