// What the JSON of an operation may be, in numbers and as a schema: worked out once, the same for all protocols.

import {
  asJson,
  everySchema,
  type JsonSchema,
  LIMITS,
  type Operation,
  type OperationName,
} from '@tallystick/contract';
import { parseJson } from '@tallystick/evidence';
import type { BodyLimits } from './json-body.ts';
import type { BodyRules } from './parse-body.ts';
import { textMembersOf } from './text-members.ts';

/** How many broken rules of JSON are listed: as many as an error shows, and more where a body has many events. */
const VIOLATIONS_MAX = LIMITS.errorDetailsMax;
const LARGE_BODY_VIOLATIONS_MAX = 2 * LIMITS.batchEventsMax;

/** Of the member that REST sends as the body. */
export function bodyLimits(operation: Operation<OperationName>): BodyLimits {
  const bytesMax = operation.bodyBytesMax ?? LIMITS.requestBytesMax;
  const isLarge = bytesMax > LIMITS.requestBytesMax;
  return {
    bytesMax,
    timeoutMs: isLarge ? LIMITS.batchRequestTimeoutMs : LIMITS.requestTimeoutMs,
    depthMax: LIMITS.nestingDepthMax + levelsAround(operation),
    violationsMax: isLarge ? LARGE_BODY_VIOLATIONS_MAX : VIOLATIONS_MAX,
    texts: textMembersOf(operation),
    schema: bodySchema(operation),
  };
}

export interface MemberLimits extends BodyRules {
  readonly bytesMax: number;
}

/** They are read at once, and no protocol needs more: in REST they fit into the head of a request. */
const MEMBERS_BYTES_MAX = 128 * 1024;

/** Of all other members together. */
export function memberLimits({ input, rest }: Operation<OperationName>): MemberLimits {
  const properties = Object.entries(asJson(input).properties ?? {});
  return {
    bytesMax: MEMBERS_BYTES_MAX,
    depthMax: LIMITS.nestingDepthMax,
    violationsMax: VIOLATIONS_MAX,
    texts: undefined,
    schema: asData({
      ...asJson(input),
      properties: Object.fromEntries(properties.filter(([name]) => name !== rest.body)),
    }),
  };
}

function bodySchema({ input, rest }: Operation<OperationName>): JsonSchema {
  return rest.body === undefined ? {} : asData(asJson(input.properties[rest.body]!));
}

/** As plain data, because it goes to another thread with the body. */
function asData(schema: JsonSchema): JsonSchema {
  // A schema is JSON.
  return parseJson(JSON.stringify(schema)) as JsonSchema;
}

/** An event may nest so deep; where events stand inside a body, as in a batch, the levels around them come on top. */
function levelsAround(operation: Operation<OperationName>): number {
  const left = [...everySchema(asJson(operation.input))].filter(([, part]) => part['x-left-to-operation']);
  return Math.max(0, ...left.map(([path]) => path.split('/').length - 2));
}
