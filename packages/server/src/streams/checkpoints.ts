// The operations on checkpoints: the newest one, and the proof that the log only grew between two sizes.

import { type Answer, AuditError, type InputOf } from '@tallystick/contract';
import { parseCheckpoint, parseNote, toBase64, toHex } from '@tallystick/evidence';
import type { Call } from '../call.ts';
import { instant } from '../runtime/clock.ts';
import { latestOf, type ProvableParts } from './provable.ts';
import type { Witnessed } from './witnessed.ts';

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
  const { tree, checkpoint: newest } = await latestOf(call, parts);
  const to = wanted ?? newest.size;
  if (to > newest.size)
    throw invalid('to', to, `is over the ${newest.size} entries of the newest checkpoint`);
  if (from > to) throw invalid('from', from, `is over the newer size, ${to}`);
  const [fromRoot, toRoot, hashes] = await Promise.all([
    tree.root(from),
    tree.root(to),
    tree.consistency(from, to),
  ]);
  const checkpoint = to === newest.size ? newest : await tree.checkpoint(to);
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

function invalid(field: string, value: number, issue: string): AuditError {
  return new AuditError('INVALID_PARAMETER', `${field} ${issue}.`, {
    details: [{ field, issue, value: String(value) }],
  });
}
