"""An MCP server of the official Python SDK that answers each tool call from memory: mcp_server.py PORT FILE

FILE has the JSON of the answer. The server writes nothing, keeps no sessions and answers without a stream of
events, which is the fastest that the SDK offers.
"""

import json
import sys
from typing import Any

from mcp.server import MCPServer

server = MCPServer("memory", log_level="ERROR")
answer = json.load(open(sys.argv[2], encoding="utf-8"))


@server.tool()
def get_health_metrics(value_type: str, start_time: str, end_time: str, group_by: str) -> dict[str, Any]:
    """Returns the answer."""
    return answer


server.run("streamable-http", port=int(sys.argv[1]), json_response=True, stateless_http=True)
