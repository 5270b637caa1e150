// The tools as a file, and which changes of it break clients: a tool, an argument or a member of an answer that is gone, and
// an argument that has become required.

import type { JsonSchema } from '../schema.ts';
import { mcpTools, type McpTool } from './tools.ts';

export function toolsText(): string {
  const tools = mcpTools().map(({ tool, set, operation }) => ({ ...tool, set, operation: operation?.name }));
  return `${JSON.stringify({ tools }, undefined, 1)}\n`;
}

export interface CommittedTools {
  readonly tools: readonly Pick<McpTool, 'name' | 'inputSchema' | 'outputSchema'>[];
}

export function toolsBreaks(committed: CommittedTools, made: CommittedTools): string[] {
  const after = new Map(made.tools.map((tool) => [tool.name, tool]));
  return committed.tools.flatMap((tool) => {
    const { name } = tool;
    const now = after.get(name);
    if (now === undefined) return [`${name} is gone`];
    return [
      ...gone(`${name} argument`, tool.inputSchema, now.inputSchema),
      ...required(name, tool.inputSchema, now.inputSchema),
      ...gone(`${name} answer`, tool.outputSchema ?? {}, now.outputSchema ?? {}),
    ];
  });
}

function gone(at: string, before: JsonSchema, after: JsonSchema): string[] {
  return [
    ...Object.entries(before.properties ?? {}).flatMap(([name, member]) => {
      const now = after.properties?.[name];
      return now === undefined ? [`${at}.${name} is gone`] : gone(`${at}.${name}`, member, now);
    }),
    ...(before.items && after.items ? gone(`${at}[]`, before.items, after.items) : []),
  ];
}

function required(at: string, before: JsonSchema, after: JsonSchema): string[] {
  const was = new Set(before.required);
  return [
    ...(after.required ?? []).filter((name) => !was.has(name)).map((name) => `${at}.${name} is required now`),
    ...Object.entries(after.properties ?? {}).flatMap(([name, member]) => {
      const old = before.properties?.[name];
      return old === undefined ? [] : required(`${at}.${name}`, old, member);
    }),
  ];
}
