// The tools that stand for no single operation: whether an event verifies, and how many events there are of each kind. They
// are made of calls of operations, as everything is.

import { AuditError } from '@tallystick/contract';
import {
  type Checkpoint,
  epochIn,
  EvidenceError,
  formatVerifierKey,
  noteVerifier,
  parseCheckpoint,
  parseEventProof,
  parseNote,
  parseVerifierKey,
  verifyEventProof,
} from '@tallystick/evidence';
import type { CallToolResult } from '@modelcontextprotocol/server';
import { AlteredEventError } from '../../call.ts';
import { writeJson } from '../../written-json.ts';
import { askOperation, type Conversation } from './conversation.ts';
import { dataOf, resultOf } from './results.ts';

const NOTE =
  'The service has checked itself, which proves nothing against the service: to be sure, let `tallystick verify` check the ' +
  'proof with a key that you have had from elsewhere.';

export async function verifyEvent(talk: Conversation): Promise<CallToolResult> {
  const { parts, exchange, entered, message } = talk;
  const asked = message.args.parts();
  const said = { eventId: asked.members['eventId'], checkedBy: 'service', note: NOTE };
  const answered = (verdict: object, answer: Parameters<typeof resultOf>[1]) =>
    resultOf({ ...verdict, ...said }, answer, undefined, exchange.correlation);
  let proved;
  try {
    proved = await askOperation(talk, { ...asked, binding: parts.boundOf('events.prove').binding });
  } catch (error) {
    // There is no proof of such an event, and here that is the answer.
    if (!(error instanceof AlteredEventError)) throw error;
    return answered(ALTERED, { kind: 'Done', body: undefined });
  }
  const members = { tenantId: entered.tenant };
  const { body } = await askOperation(talk, { binding: parts.boundOf('log.key').binding, members });
  const proof = parseEventProof(writeJson(proved.body));
  return answered(await verdictOn(proof, linesIn(body)), proved);
}

const ALTERED = {
  verified: false,
  reason: 'ALTERED',
  message: 'What the store holds of this event differs from what was accepted, so there is no proof of it.',
};

async function verdictOn(proof: ReturnType<typeof parseEventProof>, keys: readonly string[]) {
  try {
    const named = keys.map((key) => keyFor(parseCheckpoint(parseNote(proof.checkpoint).text), key));
    const verifiers = await Promise.all(named.map(noteVerifier));
    const { origin, entry, checkpoint } = await verifyEventProof(proof, { verifiers });
    const at = { origin, leafIndex: entry.index, treeSize: checkpoint.size };
    return { verified: true, ...at, checkpoint: proof.checkpoint };
  } catch (error) {
    if (!(error instanceof EvidenceError)) throw error;
    return { verified: false, reason: error.reason, message: error.message };
  }
}

/** The key is that of the current log; those that ended with a restore were signed by the same, under their own names. */
function keyFor({ origin }: Checkpoint, key: string): string {
  const parsed = parseVerifierKey(key);
  const isOfTenant = epochIn(origin).first === epochIn(parsed.name).first;
  return isOfTenant ? formatVerifierKey({ ...parsed, name: origin }) : key;
}

/** Of an answer that is a text. While the signing key is being exchanged, there are two keys. */
function linesIn(body: unknown): string[] {
  const { bytes } = body as { bytes: Uint8Array };
  return Buffer.from(bytes).toString().trimEnd().split('\n');
}

export async function countEvents(talk: Conversation): Promise<CallToolResult> {
  const { members, violations } = talk.message.args.parts();
  const { by, query, filters, ...unknown } = members;
  const [first] = Object.keys(unknown);
  if (first !== undefined) throw wrong(first, 'is not a known field');
  if (!Array.isArray(by) || by.length === 0) throw wrong('by', 'must name at least one property to count by');
  const search = {
    ...(query !== undefined && { query }),
    ...(filters !== undefined && { filters }),
    aggregations: by as unknown[],
    pagination: { limit: 1 },
  };
  const { parts, exchange } = talk;
  const { binding } = parts.boundOf('events.search');
  const body = Buffer.from(JSON.stringify(search));
  const answer = await askOperation(talk, { binding, members: {}, body, violations });
  const data = dataOf(answer, []) ?? {};
  const shown = ['totalCount', 'totalCountRelation', 'aggregations', 'aggregationsRelation'];
  const counts = Object.fromEntries(Object.entries(data).filter(([name]) => shown.includes(name)));
  return resultOf(counts, answer, undefined, exchange.correlation);
}

function wrong(field: string, issue: string): AuditError {
  return new AuditError('VALIDATION_FAILED', `${field} ${issue}.`, { details: [{ field, issue }] });
}
