// The interface over MCP, made from the operations. A package path of its own: only who speaks it loads it.

export { toolName } from './names/mcp.ts';
