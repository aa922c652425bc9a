"""Clients of LiteLLM's proxy: ``python litellm_clients.py NAME URL SESSION``.

Each asks for a plain answer, a streamed one and a call of a tool, then for more than the session has. It prints what it
has got as JSON: the lengths of its two answers, the tool that was called, and the error with its status.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

KEY = "sk-one"
TOO_MUCH = "reserve " * 6000
TOOL = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}


def error_of(error: BaseException) -> list[Any]:
    """The name of an error, and the status that it shows."""
    return [type(error).__name__, getattr(error, "status_code", None) or getattr(error, "code", None)]


def openai_sdk(url: str, session: str) -> list[Any]:
    """OpenAI's own, by chat completions."""
    import openai

    client = openai.OpenAI(base_url=f"{url}/v1", api_key=KEY, default_headers={"x-tape-session": session})

    def ask(text: str, **more: Any) -> Any:
        asked = {"model": "small", "max_tokens": 50, **more}
        return client.chat.completions.create(messages=[{"role": "user", "content": text}], **asked)

    plain = ask("hello tokens=5").choices[0].message.content
    stream = "".join(item.choices[0].delta.content or "" for item in ask("hello tokens=5", stream=True))
    tool = {"type": "function", "function": {"name": "search", "parameters": TOOL}}
    called = ask("tool=1", tools=[tool]).choices[0].message.tool_calls[0].function.name
    try:
        ask(TOO_MUCH, model="big")
    except openai.APIStatusError as error:
        return [len(plain), len(stream), called, error_of(error)]
    return []


def openai_responses(url: str, session: str) -> list[Any]:
    """OpenAI's own, by responses."""
    import openai

    client = openai.OpenAI(base_url=f"{url}/v1", api_key=KEY, default_headers={"x-tape-session": session})

    def ask(text: str, **more: Any) -> Any:
        return client.responses.create(**{"model": "small", "max_output_tokens": 50, "input": text, **more})

    plain = ask("hello tokens=5").output_text
    events = [item for item in ask("hello tokens=5", stream=True) if item.type == "response.output_text.delta"]
    tool = {"type": "function", "name": "search", "parameters": TOOL}
    called = ask("tool=1", tools=[tool]).output[0].name
    try:
        ask(TOO_MUCH, model="big")
    except openai.APIStatusError as error:
        return [len(plain), len("".join(event.delta for event in events)), called, error_of(error)]
    return []


def anthropic_sdk(url: str, session: str) -> list[Any]:
    """Anthropic's own."""
    import anthropic

    client = anthropic.Anthropic(base_url=url, api_key=KEY, default_headers={"x-tape-session": session})

    def asked(text: str, **more: Any) -> Any:
        return {"model": "claude", "max_tokens": 50, "messages": [{"role": "user", "content": text}], **more}

    plain = client.messages.create(**asked("hello tokens=5")).content[0].text
    with client.messages.stream(**asked("hello tokens=5")) as stream:
        streamed = "".join(stream.text_stream)
    tools = [{"name": "search", "input_schema": TOOL}]
    called = client.messages.create(**asked("tool=1", tools=tools)).content[0].name
    try:
        client.messages.create(**asked(TOO_MUCH))
    except anthropic.APIStatusError as error:
        return [len(plain), len(streamed), called, error_of(error)]
    return []


def langchain(url: str, session: str) -> list[Any]:
    """LangChain's model of OpenAI."""
    from langchain_openai import ChatOpenAI  # type: ignore[import-not-found, unused-ignore]

    def model(name: str) -> Any:
        headers = {"x-tape-session": session}
        return ChatOpenAI(model=name, base_url=f"{url}/v1", api_key=KEY, max_tokens=50, default_headers=headers)

    plain = model("small").invoke("hello tokens=5").content
    stream = "".join(str(item.content) for item in model("small").stream("hello tokens=5"))
    tool = {"title": "search", "description": "Search.", **TOOL}
    called = model("small").bind_tools([tool]).invoke("tool=1").tool_calls[0]["name"]
    try:
        model("big").invoke(TOO_MUCH)
    except Exception as error:
        return [len(plain), len(stream), called, error_of(error)]
    return []


def pydantic_ai(url: str, session: str) -> list[Any]:
    """An agent of pydantic-ai."""
    from openai import AsyncOpenAI
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    called = list[str]()

    def search(query: str) -> str:
        called.append("search")
        return f"hello tokens=5 {query}"

    def agent(name: str, **more: Any) -> Any:
        client = AsyncOpenAI(base_url=f"{url}/v1", api_key=KEY, default_headers={"x-tape-session": session})
        model = OpenAIChatModel(name, provider=OpenAIProvider(openai_client=client))
        return Agent(model, model_settings={"max_tokens": 50}, **more)

    async def work() -> list[Any]:
        plain = (await agent("small").run("hello tokens=5")).output
        async with agent("small").run_stream("hello tokens=5") as stream:
            streamed = await stream.get_output()
        await agent("small", tools=[search]).run("tool=1")
        try:
            await agent("big").run(TOO_MUCH)
        except Exception as error:
            return [len(plain), len(streamed), called[0], error_of(error)]
        return []

    return asyncio.run(work())


def openai_agents(url: str, session: str) -> list[Any]:
    """An agent of OpenAI's SDK for agents."""
    from agents import Agent, ModelSettings, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
    from openai import AsyncOpenAI

    set_tracing_disabled(True)
    called = list[str]()

    @function_tool  # type: ignore[untyped-decorator, unused-ignore]
    def search(query: str) -> str:
        """Search."""
        called.append("search")
        return f"hello tokens=5 {query}"

    def agent(name: str, **more: Any) -> Any:
        client = AsyncOpenAI(base_url=f"{url}/v1", api_key=KEY, default_headers={"x-tape-session": session})
        model = OpenAIChatCompletionsModel(model=name, openai_client=client)
        return Agent(name="agent", model=model, model_settings=ModelSettings(max_tokens=50), **more)

    async def work() -> list[Any]:
        plain = (await Runner.run(agent("small"), "hello tokens=5")).final_output
        streamed = Runner.run_streamed(agent("small"), "hello tokens=5")
        async for _ in streamed.stream_events():
            pass
        await Runner.run(agent("small", tools=[search]), "tool=1")
        try:
            await Runner.run(agent("big"), TOO_MUCH)
        except Exception as error:
            return [len(plain), len(streamed.final_output), called[0], error_of(error)]
        return []

    return asyncio.run(work())


def curl(url: str, session: str) -> list[Any]:
    """No SDK."""

    def ask(text: str, **more: Any) -> str:
        body = {"model": "small", "max_tokens": 50, "messages": [{"role": "user", "content": text}], **more}
        headers = {"x-tape-session": session, "authorization": f"Bearer {KEY}", "content-type": "application/json"}
        given = [word for name, value in headers.items() for word in ("-H", f"{name}: {value}")]
        command = ["curl", "-sS", "-w", "\n%{http_code}", f"{url}/v1/chat/completions", *given, "-d", "@-"]
        return subprocess.run(command, input=json.dumps(body), capture_output=True, text=True, check=True).stdout

    plain = json.loads(ask("hello tokens=5").rpartition("\n")[0])["choices"][0]["message"]["content"]
    lines = [line[6:] for line in ask("hello tokens=5", stream=True).splitlines() if line.startswith("data: {")]
    stream = "".join(json.loads(line)["choices"][0]["delta"].get("content") or "" for line in lines)
    tool = {"type": "function", "function": {"name": "search", "parameters": TOOL}}
    whole = json.loads(ask("tool=1", tools=[tool]).rpartition("\n")[0])
    called = whole["choices"][0]["message"]["tool_calls"][0]["function"]["name"]
    text, _, status = ask(TOO_MUCH, model="big").rpartition("\n")
    return [len(plain), len(stream), called, [json.loads(text)["error"]["type"], int(status)]]


def javascript(url: str, session: str) -> list[Any]:
    """OpenAI's own in JavaScript."""
    program = Path(__file__).with_name("litellm_client.mjs")
    done = subprocess.run(["node", str(program), url, session, KEY], capture_output=True, text=True, check=True)
    return list(json.loads(done.stdout))


ALL = (openai_sdk, openai_responses, anthropic_sdk, langchain, pydantic_ai, openai_agents, javascript, curl)
CLIENTS = {client.__name__: client for client in ALL}

if __name__ == "__main__":
    name, url, session = sys.argv[1:]
    print(json.dumps(CLIENTS[name](url, session)))
