// Verifications of streams: a stream, or a part of it, is recomputed from what is stored, off to the side, with its
// progress shown and its verdict kept for a day. They are kept in memory: a verification changes nothing, and after a
// restart it can be asked for again.

import { fail, ok as assert } from 'node:assert/strict';
import {
  type Answer,
  AuditError,
  ERRORS,
  type InputOf,
  LIMITS,
  type StreamId,
  type StreamVerification,
  type TenantId,
} from '@tallystick/contract';
import { toHex } from '@tallystick/evidence';
import { type Call, isSameFingerprint, keyReused } from '../call.ts';
import { type Clock, instant } from '../runtime/clock.ts';
import type { Signing } from '../keys/signing.ts';
import type { Telemetry } from '../telemetry.ts';
import type { LogReader, StoredStream } from './log.ts';
import { streamOf } from './stream-operations.ts';
import type { RangeVerdict, TreeReader } from './tree.ts';

export interface VerificationParts {
  readonly log: LogReader;
  readonly trees: Pick<TreeReader, 'checkRange'>;
  readonly clock: Clock;
  readonly nextId: () => string;
  readonly signing: Pick<Signing, 'publicKeys'>;
  readonly telemetry: Telemetry;
}

interface Verification {
  readonly tenant: TenantId;
  readonly streamId: StreamId;
  readonly operationId: string;
  readonly requestedBy: string;
  readonly requestedAtMs: number;
  readonly fromIndex: number;
  readonly endIndex: number;
  readonly key: { readonly key: string; readonly fingerprint: Uint8Array } | undefined;
  checkedEvents: number;
  startedAtMs?: number;
  completedAtMs?: number;
  verdict?: RangeVerdict;
  failureReason?: string;
}

/** So many are recomputed at a time; others wait. */
const UNDER_WAY_MAX = 2;
const WAITING_MAX = 100;
const KEPT_MS = LIMITS.idempotencyWindowMs;

export function createVerifications(parts: VerificationParts) {
  const verifications = new Verifications(parts);
  const answered = (verification: Verification): Answer<'streams.verify'> => ({
    kind: 'Accepted',
    body: shown(verification),
  });
  return {
    'streams.verify': {
      perform: async (call: Call, input: InputOf<'streams.verify'>): Promise<Answer<'streams.verify'>> => {
        const stream = await streamOf(call, input.streamId, parts.log);
        return answered(verifications.begin(call, stream, rangeOf(stream, input.range)));
      },
      // Keys of verifications are kept here, so that the gateway never finds one that was used up.
      again: () => fail('nothing uses up the key of a verification'),
    },
    'streams.getVerification': async (
      { tenant }: Call,
      { streamId, operationId }: InputOf<'streams.getVerification'>,
    ): Promise<Answer<'streams.getVerification'>> => {
      const found = verifications.find(operationId);
      if (found === undefined || found.tenant !== tenant || found.streamId !== streamId) {
        throw new AuditError('OPERATION_NOT_FOUND', ERRORS.OPERATION_NOT_FOUND.meaning);
      }
      return { kind: 'Done', body: shown(found) };
    },
  };
}

class Verifications {
  readonly #parts: VerificationParts;
  /** By operation id, oldest first. */
  readonly #all = new Map<string, Verification>();
  readonly #waiting: Verification[] = [];
  #underWay = 0;

  constructor(parts: VerificationParts) {
    this.#parts = parts;
  }

  find(operationId: string): Verification | undefined {
    return this.#all.get(operationId);
  }

  begin(
    { tenant, tenantRecord, caller, once }: Call,
    { streamId }: StoredStream,
    range: { readonly fromIndex: number; readonly endIndex: number },
  ): Verification {
    assert(
      tenant !== undefined && tenantRecord !== undefined && caller !== undefined,
      'a stream has a tenant',
    );
    this.#forgetOld();
    const key = once && { key: once.key, fingerprint: once.fingerprint(tenantRecord) };
    const same =
      key && [...this.#all.values()].find((each) => each.tenant === tenant && each.key?.key === key.key);
    if (same !== undefined) {
      if (!isSameFingerprint(same.key!.fingerprint, key!.fingerprint)) throw keyReused();
      return same;
    }
    if (this.#waiting.length >= WAITING_MAX) {
      throw new AuditError('SERVICE_UNAVAILABLE', `${WAITING_MAX} verifications wait already.`);
    }
    const verification: Verification = {
      tenant,
      streamId,
      ...range,
      operationId: this.#parts.nextId(),
      requestedBy: caller.name,
      requestedAtMs: this.#parts.clock.now(),
      key,
      checkedEvents: 0,
    };
    this.#all.set(verification.operationId, verification);
    this.#waiting.push(verification);
    this.#beginNext();
    return verification;
  }

  #beginNext(): void {
    while (this.#underWay < UNDER_WAY_MAX) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#underWay += 1;
      void this.#run(next);
    }
  }

  async #run(verification: Verification): Promise<void> {
    const { trees, clock, telemetry, signing } = this.#parts;
    verification.startedAtMs = clock.now();
    try {
      const { tenant, fromIndex, endIndex } = verification;
      const wish = { tenant, fromIndex, endIndex, publicKeys: signing.publicKeys() };
      verification.verdict = await trees.checkRange(wish, (checkedEvents) => {
        verification.checkedEvents = checkedEvents;
      });
      const { fault } = verification.verdict;
      if (fault !== undefined) {
        const { streamId } = verification;
        telemetry.error('a stream does not verify', new Error(fault.message), { tenant, streamId });
      }
    } catch (error) {
      verification.failureReason = 'The stream could not be read.';
      telemetry.error('a verification has failed', error, { operationId: verification.operationId });
    } finally {
      verification.completedAtMs = clock.now();
      this.#underWay -= 1;
      this.#beginNext();
    }
  }

  #forgetOld(): void {
    const before = this.#parts.clock.now() - KEPT_MS;
    for (const [operationId, { completedAtMs }] of this.#all) {
      if (completedAtMs !== undefined && completedAtMs < before) this.#all.delete(operationId);
    }
  }
}

function rangeOf(
  { firstIndex, endIndex }: StoredStream,
  range: InputOf<'streams.verify'>['range'],
): { readonly fromIndex: number; readonly endIndex: number } {
  const { fromSequence = firstIndex + 1, toSequence = endIndex } = range ?? {};
  if (fromSequence > toSequence + 1 || fromSequence <= firstIndex || toSequence > endIndex) {
    throw new AuditError(
      'VALIDATION_FAILED',
      `The stream has the sequences ${firstIndex + 1} to ${endIndex}; ${fromSequence} to ${toSequence} is no part of it.`,
      {
        details: [
          { field: 'fromSequence', issue: 'must name a part of the stream', value: String(fromSequence) },
        ],
      },
    );
  }
  return { fromIndex: fromSequence - 1, endIndex: toSequence };
}

function shown(verification: Verification): StreamVerification {
  const { streamId, operationId, requestedBy, checkedEvents, verdict, failureReason } = verification;
  const { startedAtMs, completedAtMs } = verification;
  const totalEvents = verification.endIndex - verification.fromIndex;
  const isOver = completedAtMs !== undefined;
  const status =
    failureReason !== undefined ? 'Failed' : isOver ? 'Completed' : startedAtMs ? 'Processing' : 'Pending';
  return {
    streamId,
    operationId,
    status,
    progress: {
      percent:
        verdict !== undefined || totalEvents === 0 ? 100 : Math.floor((100 * checkedEvents) / totalEvents),
      processedEvents: verdict?.checkedEvents ?? checkedEvents,
      totalEvents,
    },
    requestedAt: instant(verification.requestedAtMs),
    requestedBy,
    ...(startedAtMs === undefined ? {} : { startedAt: instant(startedAtMs) }),
    ...(completedAtMs === undefined ? {} : { completedAt: instant(completedAtMs) }),
    ...(failureReason === undefined ? {} : { failureReason }),
    ...(verdict === undefined || !isOver ? {} : { verdict: verdictOf(verification, verdict, completedAtMs) }),
  };
}

function verdictOf(
  { fromIndex, endIndex }: Verification,
  { fault, rootHash, ...counts }: RangeVerdict,
  atMs: number,
): NonNullable<StreamVerification['verdict']> {
  return {
    verified: fault === undefined,
    ...(endIndex > fromIndex ? { firstSequence: fromIndex + 1, lastSequence: endIndex } : {}),
    ...counts,
    rootHash: toHex(rootHash),
    ...(fault === undefined ? {} : { fault: faultOf(fault) }),
    verifiedAt: instant(atMs),
  };
}

function faultOf({ index, reason, message }: NonNullable<RangeVerdict['fault']>) {
  return { ...(index === undefined ? {} : { sequence: index + 1 }), reason, message };
}
