// The tools that stand for no single operation: whether an event verifies, and how many events there are of each kind. They
// are made of calls of operations, as everything is.

import { AuditError } from '@tallystick/contract';
import { EvidenceError, noteVerifier, parseEventProof, verifyEventProof } from '@tallystick/evidence';
import type { CallToolResult } from '@modelcontextprotocol/server';
import { writeJson } from '../../written-json.ts';
import { askOperation, type Conversation } from './conversation.ts';
import { dataOf, resultOf } from './results.ts';

const NOTE =
  'The service has checked itself, which proves nothing against the service: to be sure, let `tallystick verify` check the ' +
  'proof with a key that you have had from elsewhere.';

export async function verifyEvent(talk: Conversation): Promise<CallToolResult> {
  const { parts, exchange, entered, message } = talk;
  const asked = message.args.parts();
  const proved = await askOperation(talk, { ...asked, binding: parts.bindingOf('events.prove') });
  const members = { tenantId: entered.tenant };
  const { body } = await askOperation(talk, { binding: parts.bindingOf('log.key'), members });
  const proof = parseEventProof(writeJson(proved.body));
  const key = await textIn(body);
  const said = { eventId: asked.members['eventId'], checkedBy: 'service', note: NOTE };
  const verdict = await verdictOn(proof, key);
  return resultOf({ ...verdict, ...said }, proved, undefined, exchange.correlation);
}

async function verdictOn(proof: ReturnType<typeof parseEventProof>, key: string) {
  try {
    const verifiers = [await noteVerifier(key.trim())];
    const { origin, entry, checkpoint } = await verifyEventProof(proof, { verifiers });
    const at = { origin, leafIndex: entry.index, treeSize: checkpoint.size };
    return { verified: true, ...at, checkpoint: proof.checkpoint };
  } catch (error) {
    if (!(error instanceof EvidenceError)) throw error;
    return { verified: false, reason: error.reason, message: error.message };
  }
}

/** Of an answer that is a text. */
async function textIn(body: unknown): Promise<string> {
  const { bytes } = body as { bytes: Uint8Array };
  return Promise.resolve(Buffer.from(bytes).toString());
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
  const answer = await askOperation(talk, {
    binding: parts.bindingOf('events.search'),
    members: {},
    body: Buffer.from(JSON.stringify(search)),
    violations,
  });
  const data = dataOf(answer, []) ?? {};
  const shown = ['totalCount', 'totalCountRelation', 'aggregations', 'aggregationsRelation'];
  const counts = Object.fromEntries(Object.entries(data).filter(([name]) => shown.includes(name)));
  return resultOf(counts, answer, undefined, exchange.correlation);
}

function wrong(field: string, issue: string): AuditError {
  return new AuditError('VALIDATION_FAILED', `${field} ${issue}.`, { details: [{ field, issue }] });
}
