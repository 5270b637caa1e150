// Tells every log that the key which signs it will be another one, before that key counts: a reader who trusts the old key
// learns of the new one from the log itself. It can be done again after a crash: all notices of one rotation have one
// id, under which the store knows those that are there already. A log that must not go on is left out; owed-notices.ts
// comes back to it.

import type { TenantId } from '@tallystick/contract';
import { KINDS } from '@tallystick/evidence';
import { type Clock, instant } from '../runtime/clock.ts';
import type { AppendOutcome, AppendRequest, LogWriter } from '../streams/log.ts';
import { draftNotice } from '../streams/append/notice.ts';
import type { Standing, TreeWriter } from '../streams/tree.ts';
import { type SigningKey, verifierKeys } from './signing-keys.ts';

export interface AnnounceParts {
  readonly tree: Pick<TreeWriter, 'standings'>;
  readonly log: Pick<LogWriter, 'append'>;
  /** Logs that must not go on, not even by a notice, and why: also those of which that is not known yet. */
  readonly refused: ReadonlyMap<TenantId, string>;
  readonly clock: Pick<Clock, 'now'>;
  /** A UUID for all notices of one run. */
  readonly correlationId: string;
}

/** Both keys, and the order in which they sign. */
export interface Rotation {
  readonly previous: Pick<SigningKey, 'publicKey'>;
  readonly next: Pick<SigningKey, 'publicKey' | 'fingerprint'>;
  readonly overlapEndsAtMs: number;
  readonly noticeId: string;
}

export interface Announced {
  /** Logs that have the notice now. */
  readonly told: ReadonlySet<TenantId>;
  /** How many of these had it from an earlier run. */
  readonly before: number;
  /** Logs that cannot have it now, and why. */
  readonly without: ReadonlyMap<TenantId, string>;
}

const LOGS_IN_A_COMMIT = 100;

/**
 * Resolves when every log that has entries has the notice, or is known to go without; rejects when that is not known.
 * `known` is what was announced before, by the same run.
 */
export async function announceRotation(
  rotation: Rotation,
  parts: AnnounceParts,
  known?: Announced,
): Promise<Announced> {
  const { tree, log, clock, refused } = parts;
  const told = new Set(known?.told);
  const without = new Map([...refused].filter(([tenant]) => !told.has(tenant)));
  let before = known?.before ?? 0;
  const isLeft = ({ tenant }: Standing) => !told.has(tenant) && !without.has(tenant);
  // Once more after the last: a log may have begun meanwhile.
  for (
    let left = await tree.standings();
    (left = left.filter(isLeft)).length > 0;
    left = await tree.standings()
  ) {
    for (let i = 0; i < left.length; i += LOGS_IN_A_COMMIT) {
      const portion = left.slice(i, i + LOGS_IN_A_COMMIT);
      const nowMs = clock.now();
      const requests = portion.map((standing) => noticeFor(standing, rotation, parts.correlationId, nowMs));
      const results = await log.append(requests, { nowMs, steadyNowMs: nowMs });
      for (const [at, { tenant }] of portion.entries()) {
        const outcome = outcomeOf(results[at]);
        if (outcome !== 'Appended' && outcome !== 'Duplicate') without.set(tenant, outcome);
        else told.add(tenant);
        if (outcome === 'Duplicate') before += 1;
      }
    }
  }
  return { told, before, without };
}

/** The request to append the notice to the log of this origin, the same for every attempt. */
export function noticeFor(
  { tenant, origin }: Pick<Standing, 'tenant' | 'origin'>,
  { previous, next, overlapEndsAtMs, noticeId }: Rotation,
  correlationId: string,
  nowMs: number,
): AppendRequest {
  const [newKey, previousKey] = verifierKeys([next, previous], origin);
  const facts = {
    kind: KINDS.keyRotation,
    action: 'Rotate.SigningKey',
    resource: { resourceType: 'SigningKey', resourceId: next.fingerprint },
    payload: { previousKey: previousKey!, newKey: newKey!, overlapEndsAt: instant(overlapEndsAtMs) },
    correlationId,
  };
  const draft = draftNotice(facts, { eventId: noticeId, nowMs });
  // The notice is recognised by this: the rest of it may have another time when it is written again.
  const sentFingerprint = Buffer.from(next.fingerprint, 'hex');
  // The service may recognise its own notices.
  return { tenant, drafts: [{ ...draft, sentFingerprint }], clearance: 'Secret', atomic: true };
}

/** `Appended` or `Duplicate`, or why it is neither. */
export function outcomeOf(result: AppendOutcome | undefined): string {
  if (result?.status === 'Faulty') return result.error.message;
  const [outcome] = result?.status === 'Done' ? result.outcomes : [];
  return outcome?.status ?? 'the log gave no result';
}
