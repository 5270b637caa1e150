// Verifications of streams: a stream, or a part of it, is recomputed from what is stored, off to the side, and held
// against what was signed: nothing is said to be verified that no checkpoint covers.

import { fail, ok as assert } from 'node:assert/strict';
import {
  type Answer,
  AuditError,
  type ErrorDetail,
  ERRORS,
  type InputOf,
  type StreamVerification,
} from '@tallystick/contract';
import { type Call, keyReused } from '../call.ts';
import { isRepeat, UNCLASSIFIED } from '../repeats.ts';
import type { LogReader, StoredStream } from './log.ts';
import { covering, type ProvableParts, treeOf } from './provable.ts';
import { streamOf } from './stream-operations.ts';
import { shownVerification } from './verification-answer.ts';
import { type TurnParts, type Verification, VerificationTurns } from './verification-turns.ts';

export type VerificationParts = TurnParts & ProvableParts & { readonly log: LogReader };

interface Range {
  readonly fromIndex: number;
  readonly endIndex: number;
}

/** To be disposed before what it reads from. */
export function createVerifications(parts: VerificationParts) {
  const turns = new VerificationTurns(parts);
  const operations = {
    'streams.verify': {
      perform: createVerify(turns, parts),
      // Keys of verifications are kept here, so that the gateway never finds one that was used up.
      again: () => fail('nothing uses up the key of a verification'),
    },
    'streams.getVerification': async (
      { tenant }: Call,
      { streamId, operationId }: InputOf<'streams.getVerification'>,
    ): Promise<Answer<'streams.getVerification'>> => {
      const found = turns.find(operationId);
      if (found === undefined || found.tenant !== tenant || found.streamId !== streamId) {
        throw new AuditError('OPERATION_NOT_FOUND', ERRORS.OPERATION_NOT_FOUND.meaning);
      }
      return { kind: 'Done', body: shownVerification(found) };
    },
  };
  return { operations, [Symbol.asyncDispose]: () => turns[Symbol.asyncDispose]() };
}

/** The gateway lets requests with one key come one after the other. */
function createVerify(turns: VerificationTurns, parts: VerificationParts) {
  const firstBodies = new WeakMap<Verification, StreamVerification>();
  return async (call: Call, input: InputOf<'streams.verify'>): Promise<Answer<'streams.verify'>> => {
    const stream = await streamOf(call, input.streamId, parts.log);
    const { tenant, tenantRecord, caller, once } = call;
    assert(
      tenant !== undefined && tenantRecord !== undefined && caller !== undefined,
      'a stream has a tenant',
    );
    const key = once && { key: once.key, fingerprint: once.fingerprint(tenantRecord) };
    const same = key && turns.underKey(tenant, key.key);
    if (same?.key !== undefined && key !== undefined) {
      const first = { ...same.key, classification: UNCLASSIFIED };
      if (!isRepeat(first, { ...key, clearance: caller.clearance })) throw keyReused();
      return { kind: 'Repeated', body: firstBodies.get(same)! };
    }
    const range = rangeOf(stream, input.range);
    const requiredSize = await signedSizeFor(call, range, parts);
    const { streamId } = stream;
    const verification = turns.begin({
      tenant,
      streamId,
      requestedBy: caller.name,
      ...range,
      requiredSize,
      key,
    });
    const body = shownVerification(verification);
    firstBodies.set(verification, body);
    return { kind: 'Accepted', body };
  };
}

/**
 * The size of the smallest checkpoint that covers the range, when there is such a checkpoint: what has just been
 * appended waits for it. A log that ended with a restore gets no more of them, and the verdict says what that leaves out.
 */
async function signedSizeFor(
  call: Call,
  { fromIndex, endIndex }: Range,
  parts: VerificationParts,
): Promise<number> {
  const current = await treeOf(call, parts);
  if (fromIndex === endIndex) return 0;
  if (fromIndex >= current.firstIndex) {
    await covering(call, endIndex - 1, parts);
    return endIndex - current.firstIndex;
  }
  // A stream is never of two logs.
  const ended = await parts.trees.tree(call.tenant!, fromIndex);
  assert(ended !== undefined, 'what is in a stream is in a log');
  return endIndex - ended.firstIndex;
}

function rangeOf({ firstIndex, endIndex }: StoredStream, range: InputOf<'streams.verify'>['range']): Range {
  const [first, last] = [firstIndex + 1, endIndex];
  const { fromSequence = first, toSequence = last } = range ?? {};
  const details: ErrorDetail[] = [];
  const refuse = (field: string, issue: string, value: number) =>
    details.push({ field, issue, value: String(value) });
  const isOutside = (sequence: number | undefined) =>
    sequence !== undefined && (sequence < first || sequence > last);
  const issue = 'must be a sequence of the stream';
  if (isOutside(range?.fromSequence)) refuse('fromSequence', issue, fromSequence);
  if (isOutside(range?.toSequence)) refuse('toSequence', issue, toSequence);
  if (details.length === 0 && range?.toSequence !== undefined && toSequence < fromSequence) {
    refuse('toSequence', 'must not be before fromSequence', toSequence);
  }
  if (details.length > 0) {
    const has = last < first ? 'is empty' : `has the sequences ${first} to ${last}`;
    const message = `The stream ${has}; ${fromSequence} to ${toSequence} is no part of it.`;
    throw new AuditError('VALIDATION_FAILED', message, { details });
  }
  return { fromIndex: fromSequence - 1, endIndex: toSequence };
}
