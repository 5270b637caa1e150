// What tools answer: an answer of an operation as text and as data, or an error in a line that a model can act on. Members
// that no transcript may have are left out.

import { type AuditError, type Operation, type OperationName } from '@tallystick/contract';
import { parseJson } from '@tallystick/evidence';
import type { CallToolResult } from '@modelcontextprotocol/server';
import type { Correlation } from '../../call.ts';
import { type ErrorPlace, shownError } from '../../gateway/shown-error.ts';
import type { AnyAnswer } from '../../operations.ts';
import { recordTag } from '../http/record-tag.ts';
import { writeJson } from '../../written-json.ts';

type Paths = readonly (readonly string[])[];
export type Data = Record<string, unknown>;

/** The answer as plain data: its stored texts are read. Undefined where the operation answers none. */
export function dataOf({ body }: AnyAnswer, leftOut: Paths): Data | undefined {
  if (body === undefined) return undefined;
  // Every body of an operation that is offered is an object.
  const data = parseJson(writeJson(body)) as Data;
  for (const path of leftOut) leaveOut(data, path);
  return data;
}

function leaveOut(value: unknown, [step, ...rest]: readonly string[]): void {
  if (typeof value !== 'object' || value === null || step === undefined) return;
  if (Array.isArray(value)) {
    for (const item of value) leaveOut(item, rest);
    return;
  }
  const members = value as Data;
  if (rest.length === 0) delete members[step];
  else leaveOut(members[step], rest);
}

export function resultOf(
  data: Data | undefined,
  answer: Pick<AnyAnswer, 'kind' | 'facts' | 'body'>,
  operation: Pick<Operation<OperationName>, 'rest'> | undefined,
  correlation: Correlation,
): CallToolResult {
  const { kind, facts } = answer;
  const etag = operation && recordTag(operation, answer);
  return {
    content: [{ type: 'text', text: data === undefined ? 'Done.' : JSON.stringify(data) }],
    ...(data !== undefined && { structuredContent: data }),
    _meta: {
      'tallystick/answer': kind,
      'tallystick/traceId': correlation.traceId,
      ...(etag !== undefined && { 'tallystick/etag': etag }),
      ...(facts?.projectionLagMs !== undefined && { 'tallystick/projectionLagMs': facts.projectionLagMs }),
    },
  };
}

export function errorResult(error: AuditError, place: ErrorPlace, nowMs: number): CallToolResult {
  const shown = shownError(error, place, nowMs);
  const places = shown.details
    .slice(0, DETAILS_SAID)
    .map(({ field, issue }) => `${field} ${issue}`)
    .filter((place) => !shown.message.includes(place));
  const retry =
    error.retryAfterSeconds === undefined ? [] : [`Try again in ${error.retryAfterSeconds} seconds.`];
  return {
    isError: true,
    content: [{ type: 'text', text: [`${shown.code}: ${shown.message}`, ...places, ...retry].join('\n') }],
    structuredContent: { error: shown },
    _meta: { 'tallystick/traceId': shown.traceId },
  };
}

/** A model reads them; all are in the data. */
const DETAILS_SAID = 20;
