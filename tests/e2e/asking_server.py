"""Asks whom to greet, by the official SDK: in the answer or with a request, as the version of the protocol has it.

Over HTTP if it is given a port.
"""

import sys
from typing import Annotated

from pydantic import BaseModel

from mcp.server import MCPServer
from mcp.server.mcpserver.resolve import Elicit, Resolve


class Name(BaseModel):
    name: str


server = MCPServer("asking")


async def whom() -> Elicit[Name]:
    return Elicit("Whom to greet?", Name)


@server.tool()
def greet(greeting: str, user: Annotated[Name, Resolve(whom)]) -> str:
    """Greet somebody."""
    return f"{greeting}, {user.name}!"


if len(sys.argv) > 1:
    server.run("streamable-http", port=int(sys.argv[1]))
else:
    server.run("stdio")
