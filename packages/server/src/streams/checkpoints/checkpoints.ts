// The operations on checkpoints: the newest one, and the proof that the log only grew between two sizes.

import { ok as assert } from 'node:assert/strict';
import { type Answer, AuditError, ERRORS, type InputOf } from '@tallystick/contract';
import { parseCheckpoint, parseNote, toBase64, toHex } from '@tallystick/evidence';
import type { Call } from '../../call.ts';
import { instant } from '../../runtime/clock.ts';
import { latestOf, type ProvableParts, requireSound } from './provable.ts';
import type { ProvenGrowth } from '../tree.ts';
import type { Witnessed } from '../witness/witnessed.ts';

export interface CheckpointParts extends ProvableParts {
  readonly clock: { now(): number };
  readonly witnessed: Witnessed;
}

export function createCheckpointOperations(parts: CheckpointParts) {
  return {
    'checkpoints.latest': (call: Call) => latest(call, parts),
    'checkpoints.proveConsistency': (call: Call, input: InputOf<'checkpoints.proveConsistency'>) =>
      proveConsistency(call, input, parts),
  };
}

async function latest(call: Call, parts: CheckpointParts): Promise<Answer<'checkpoints.latest'>> {
  const { checkpoint } = await latestOf(call, parts);
  const { origin, size, root } = parseCheckpoint(parseNote(checkpoint.note).text);
  return {
    kind: 'Done',
    body: {
      origin,
      treeSize: size,
      rootHash: toHex(root),
      checkpoint: checkpoint.note,
      publishedAt: instant(checkpoint.publishedAtMs === 0 ? parts.clock.now() : checkpoint.publishedAtMs),
      cosignatures: parts.witnessed.cosignersOf(checkpoint.note).length,
    },
  };
}

async function proveConsistency(
  call: Call,
  { from, to: wanted }: InputOf<'checkpoints.proveConsistency'>,
  parts: CheckpointParts,
): Promise<Answer<'checkpoints.proveConsistency'>> {
  const { head, proof } = await growthOf(call, from, wanted, parts);
  const newest = head.latest?.size ?? 0;
  const to = wanted ?? newest;
  if (to > newest) throw invalid('to', to, `is over the ${newest} entries of the newest checkpoint`);
  if (from > to) throw invalid('from', from, `is over the newer size, ${to}`);
  assert(proof !== undefined, 'sizes that a log has are proven');
  const { fromRoot, toRoot, hashes, checkpoint } = proof;
  return {
    kind: 'Done',
    body: {
      from,
      to,
      fromRootHash: toHex(fromRoot),
      toRootHash: toHex(toRoot),
      hashes: hashes.map(toBase64),
      ...(checkpoint === undefined ? {} : { checkpoint: checkpoint.note }),
    },
  };
}

/** Waits for the first checkpoint of a log with entries; a log without entries has none. */
async function growthOf(
  call: Call,
  from: number,
  to: number | undefined,
  parts: CheckpointParts,
): Promise<ProvenGrowth> {
  const { tenant, tenantRecord } = call;
  assert(tenant !== undefined, 'a log belongs to a tenant');
  const ask = () => parts.trees.forTenant(tenant).proveGrowth(from, to);
  let found = tenantRecord === undefined ? undefined : await ask();
  if (found === undefined) throw new AuditError('TENANT_NOT_FOUND', ERRORS.TENANT_NOT_FOUND.meaning);
  requireSound(tenant, parts.checkpointer);
  if (found.head.latest === undefined && (await latestOf(call, parts)).checkpoint.size > 0)
    found = await ask();
  return found!;
}

function invalid(field: string, value: number, issue: string): AuditError {
  return new AuditError('INVALID_PARAMETER', `${field} ${issue}.`, {
    details: [{ field, issue, value: String(value) }],
  });
}
