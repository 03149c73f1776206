"""pydantic-ai as a client: a model that calls the tools it is shown."""

from __future__ import annotations

from typing import Any

from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from afterwit.bus.mcp.tools import TOOLS

from .conftest import Endpoint


async def test_it_stores_and_finds(endpoint: Endpoint) -> None:
    shown: list[str] = []

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        shown[:] = [tool.name for tool in info.function_tools]
        returned = [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
        if not returned:
            return ModelResponse(parts=[ToolCallPart("memory_store", {"content": "The relay hums", "tags": ["power"]})])
        if len(returned) == 1:
            return ModelResponse(parts=[ToolCallPart("memory_retrieve", {"query": "relay", "top_k": 3})])
        found: Any = returned[1].content
        return ModelResponse(parts=[TextPart(found["items"][0]["memory"]["content"])])

    agent = Agent(FunctionModel(model), toolsets=[MCPToolset(endpoint.url, headers=endpoint.headers)])
    result = await agent.run("What does the relay do?")
    assert result.output == "The relay hums"
    assert len(shown) == len(TOOLS)
