// The interface over MCP, made from the operations. A package path of its own: only who speaks it loads it.

export { leftOutPaths } from './mcp/json-schema.ts';
export { mcpOperations } from './mcp/operations.ts';
export * from './mcp/prompts.ts';
export * from './mcp/resources.ts';
export * from './mcp/tools.ts';
export { toolName } from './names/mcp.ts';
