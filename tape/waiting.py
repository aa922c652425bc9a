"""Synchronous code that waits for coroutines, and coroutines that wait for blocking calls.

`run_sync` is what every synchronous wrapper is made of. Where no event loop runs in this thread it is ``asyncio.run``.
Where one does, as in a notebook, the coroutine gets a loop of its own in a thread of its own, and this thread waits; it
makes the blocking calls meanwhile, so that what belongs to a thread (an SQLite connection, a window) stays usable.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import Context, ContextVar, copy_context
from queue import SimpleQueue
from typing import Any, Generic, Literal, TypeVar

T = TypeVar("T")

END_SECONDS = 1.0
"""How long the end of a loop of ours waits for tasks that are cancelled."""


def run_sync(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end and return what it returns; also inside a running event loop, which waits too.

    What belongs to that loop cannot be used meanwhile: ``await`` the coroutine there instead.

    Raises:
        KeyboardInterrupt: Ctrl-C; the coroutine was cancelled and has cleaned up. A second one is not waited for.
    """
    if is_running():
        return _Apart(coroutine).wait()
    here = _WAITING.set("here")
    try:
        with _ending_soon(asyncio.Runner()) as runner:
            return runner.run(coroutine)
    finally:
        _WAITING.reset(here)


@contextmanager
def one_loop() -> Iterator[Callable[[Coroutine[Any, Any, T]], T]]:
    """`run_sync` for several coroutines in turn, in one event loop where none runs in this thread."""
    if is_running():
        yield run_sync
        return
    here = _WAITING.set("here")
    try:
        with _ending_soon(asyncio.Runner()) as runner:
            yield runner.run
    finally:
        _WAITING.reset(here)


@contextmanager
def _ending_soon(runner: asyncio.Runner) -> Iterator[asyncio.Runner]:
    """Use a runner whose end does not wait for tasks and threads that a tool has started and that do not end."""
    with runner:
        loop = runner.get_loop()
        loop.set_default_executor(_Daemons())
        try:
            yield runner
        finally:
            if tasks := asyncio.all_tasks(loop):
                for task in tasks:
                    task.cancel()
                loop.run_until_complete(asyncio.wait(tasks, timeout=END_SECONDS))
                for task in tasks:
                    if not task.done():
                        leave(task)


def leave(task: asyncio.Task[Any]) -> None:
    """Forget a task for good, which does not end when it is cancelled.

    An event loop waits at its end for all tasks that it knows of. A task without references is cancelled
    once again, when the interpreter ends at the latest, and might compute for ever then; so a thread keeps it.
    """
    asyncio.tasks._unregister_task(task)
    task._log_destroy_pending = False  # type: ignore[attr-defined]
    threading.Thread(target=_keep, args=(task,), name=f"left: {task.get_name()}", daemon=True).start()


def _keep(task: asyncio.Task[Any]) -> None:
    threading.Event().wait()
    del task


class _Daemons(ThreadPoolExecutor):
    """What ``asyncio.to_thread`` runs in: a thread for each call, for which neither loop nor interpreter wait."""

    def submit(self, call: Callable[..., T], /, *args: Any, **more: Any) -> Future[T]:
        """Start a call."""
        future: Future[T] = Future()

        def run() -> None:
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(call(*args, **more))
                except BaseException as error:  # whatever it is, it belongs to the one who waits
                    future.set_exception(error)

        threading.Thread(target=run, name="tape call", daemon=True).start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Wait for nothing."""


def is_running() -> bool:
    """Whether an event loop runs in this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


async def call_waiting(call: Callable[[], T]) -> T:
    """Make a blocking call: in the thread that waits for this coroutine, if there is such a thread, else here."""
    waiting = _WAITING.get()
    if isinstance(waiting, _Apart):
        made: T = await waiting.call(call)
        return made
    with interruptible():
        return call()


def is_waited_for() -> bool:
    """Whether a thread waits in :func:`run_sync` for what runs here, and has nothing else to do meanwhile."""
    return _WAITING.get() is not None


def context_elsewhere() -> Context:
    """A copy of the context for a call in another thread, for which nobody waits there."""
    context = copy_context()
    context.run(_WAITING.set, None)
    return context


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C end what blocks or computes here at once.

    ``asyncio.run`` only notes it until the running task waits for something.
    """
    usual = signal.getsignal(signal.SIGINT) if threading.current_thread() is threading.main_thread() else None
    owner = getattr(getattr(usual, "func", None), "__self__", None)  # the handler is a partial of a method of Runner
    if not isinstance(owner, asyncio.Runner):
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)


class _Apart(Generic[T]):
    """A coroutine in a loop and a thread of its own, and the thread that waits for it."""

    def __init__(self, coroutine: Coroutine[Any, Any, T]) -> None:
        self._coroutine = coroutine
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        # With a factory nothing is set in this thread, whose own loop goes on afterwards.
        self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
        self._loop = self._runner.get_loop()
        self._task: asyncio.Task[T] | None = None
        self._stopped = False
        self._returned: list[T] = []
        self._raised: BaseException | None = None

    def wait(self) -> T:
        """Start it, make its blocking calls, and return what it returns."""
        context = copy_context()
        context.run(_WAITING.set, self)
        thread = threading.Thread(target=self._run, args=(context,), name="tape", daemon=True)
        thread.start()
        try:
            with interruptible():
                self._serve()
        except BaseException:
            self._drop()
            with suppress(RuntimeError):  # it has just ended, and its loop is closed
                self._loop.call_soon_threadsafe(self._cancel)
            self._serve()
            thread.join()
            raise
        thread.join()
        if self._raised is not None:
            raise self._raised
        return self._returned[0]

    def _serve(self) -> None:
        """Make calls until it has ended."""
        while (call := self._calls.get()) is not None:
            call()

    def _drop(self) -> None:
        """Forget the calls that were asked for before the interrupt; those of the clean-up are still made."""
        while not self._calls.empty():
            if self._calls.get() is None:
                self._calls.put(None)
                return

    def _run(self, context: Context) -> None:
        try:
            with _ending_soon(self._runner) as runner:
                self._returned.append(runner.run(self._begun(), context=context))
        except BaseException as error:  # whatever it is, it belongs to the one who waits
            self._raised = error
        finally:
            for _ in range(2):  # an interrupt may come right after the first was taken
                self._calls.put(None)

    async def _begun(self) -> T:
        self._task = asyncio.current_task()
        if self._stopped:
            self._coroutine.close()
            raise asyncio.CancelledError
        return await self._coroutine

    def _cancel(self) -> None:
        self._stopped = True
        if self._task is not None:
            self._task.cancel()

    async def call(self, call: Callable[[], Any]) -> Any:
        """Make a call in the waiting thread."""
        done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        context = context_elsewhere()  # that thread cannot wait for itself
        self._calls.put(lambda: context.run(answer, done, call, Exception))
        return await done


_WAITING: ContextVar[_Apart[Any] | Literal["here"] | None] = ContextVar("waiting", default=None)
"""Who waits in :func:`run_sync` for the coroutine that runs here: another thread, or this one; None: nobody."""


def answer(done: asyncio.Future[T], call: Callable[[], T], caught: type[BaseException] = BaseException) -> None:
    """Make a call in this thread for a coroutine that awaits its result in another one.

    Args:
        done: What is awaited.
        call: The call.
        caught: What of its exceptions is handed on; the others are raised here.
    """

    def post(set_: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the loop is closed, and nothing waits any more
            done.get_loop().call_soon_threadsafe(lambda: None if done.done() else set_())

    try:
        result = call()
    except caught as error:
        # A future refuses StopIteration.
        failure = RuntimeError(repr(error)) if isinstance(error, StopIteration) else error
        post(lambda: done.set_exception(failure))
    else:
        post(lambda: done.set_result(result))


async def answer_of(asking: Future[T], give_back: Callable[[T], object]) -> T:
    """The answer of a thread; one that comes after its caller was cancelled is given back."""
    answered = asyncio.wrap_future(asking)
    try:
        return await asyncio.shield(answered)
    except asyncio.CancelledError:
        answered.add_done_callback(lambda future: future.cancelled() or future.exception())  # nobody else asks for it
        asking.add_done_callback(lambda future: future.cancelled() or future.exception() or give_back(future.result()))
        raise
