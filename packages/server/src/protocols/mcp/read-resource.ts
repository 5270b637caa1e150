// The contents of a resource: a call of the operation that its address leads to, or a text that is the same for all. What is
// not there and what the caller may not see are answered alike.

import { AuditError, ERRORS, REST_STATUS_OF_ERROR } from '@tallystick/contract';
import {
  ERRORS_REFERENCE,
  ME,
  QUERY_REFERENCE,
  QUERY_TEXT,
  readAddress,
  RESOURCE_OPERATIONS,
} from '@tallystick/contract/mcp';
import type { Conversation } from './conversation.ts';
import { askFitting } from './pages.ts';

export interface ResourceText {
  readonly mimeType: string;
  readonly text: string;
}

/** Undefined: there is no such resource for this caller. */
export async function readResource(talk: Conversation, uri: string): Promise<ResourceText | undefined> {
  if (uri === QUERY_REFERENCE) return { mimeType: 'text/markdown', text: QUERY_TEXT };
  if (uri === ERRORS_REFERENCE) return { mimeType: 'text/markdown', text: errorsText() };
  if (uri === ME) return asText(callerFacts(talk));
  const listed = Object.hasOwn(RESOURCE_OPERATIONS, uri) ? RESOURCE_OPERATIONS[uri] : undefined;
  const found = listed === undefined ? readAddress(uri) : { operation: listed, input: {} };
  if (found === undefined) return undefined;
  const { fromSequence, ...input } = found.input;
  const asked = fromSequence === undefined ? input : { ...input, fromSequence: Number(fromSequence) };
  try {
    const { data } = await askFitting(talk, talk.parts.boundOf(found.operation), { members: asked });
    return asText(data);
  } catch (error) {
    if (error instanceof AuditError && REST_STATUS_OF_ERROR[error.code] === 404) return undefined;
    throw error;
  }
}

const asText = (data: unknown): ResourceText => ({
  mimeType: 'application/json',
  text: JSON.stringify(data),
});

function callerFacts({ entered: { caller, tenant } }: Conversation) {
  const { name, roles, clearance } = caller;
  return { name, roles, clearance, ...(tenant !== undefined && { tenant }) };
}

function errorsText(): string {
  const rows = Object.entries(ERRORS).map(([code, { meaning }]) => `| \`${code}\` | ${meaning} |`);
  return ['# Errors', '', '| code | meaning |', '|---|---|', ...rows, ''].join('\n');
}
