// The operations as MCP offers them: those of the newest version, with pages that are small enough for a model, and without
// what carries secrets. The gateway validates by these, as it does by those of other protocols.

import type { TSchema } from 'typebox';
import type { Operation } from '../operation.ts';
import { isOffered, type OperationName, operationsIn } from '../operations.ts';
import { asJson, type JsonSchema } from '../schema.ts';
import { LIMITS } from '../limits.ts';

/** Members of a body that only a destination with secrets has. */
const WITHOUT: Readonly<Partial<Record<OperationName, string>>> = { 'exports.create': 'destination' };

export function mcpOperations(): Operation<OperationName>[] {
  return operationsIn('v2')
    .filter((each) => isOffered(each, 'mcp'))
    .map((each) => {
      const input = smallPages(asJson(each.input), WITHOUT[each.name]);
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- with fewer members it is of the same kind
      return { ...each, input: input as TSchema as typeof each.input };
    });
}

function smallPages(schema: JsonSchema, without: string | undefined): JsonSchema {
  const { properties } = schema;
  if (properties === undefined) return schema;
  const members = Object.entries(properties).filter(([name]) => name !== without);
  const isPage = (name: string, member: JsonSchema) =>
    name === 'limit' && member.default === LIMITS.pageSizeDefault;
  return {
    ...schema,
    properties: Object.fromEntries(
      members.map(([name, member]) => [
        name,
        isPage(name, member)
          ? { ...member, default: LIMITS.mcpPageSizeDefault }
          : smallPages(member, without),
      ]),
    ),
  };
}
