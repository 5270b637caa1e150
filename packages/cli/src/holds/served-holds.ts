// Reads, places and releases the legal holds of a tenant over HTTP. A change is retried if its answer is lost; the Idempotency-Key
// makes sure that it is done once. An answer of the wrong shape is an EvidenceError; no answer, or a refusal, is NoAnswer.

import type { HoldRequest, LegalHold } from '@tallystick/contract';
import { allPages, type AskedService, askerOf, type AskOptions, misshapen } from '../ask-json.ts';
import { areTexts, areTextsIfAny, isCount, membersOf } from '../members.ts';
import { type Change, retried } from '../retried-change.ts';

export interface ServedHolds {
  /** All of them, newest first. */
  list(status?: string): Promise<LegalHold[]>;
  get(holdId: string): Promise<LegalHold>;
  place(hold: HoldRequest, change: Change): Promise<LegalHold>;
  release(holdId: string, reason: string, change: Change): Promise<LegalHold>;
}

const PAGE = 100;
const ADVICE = {
  401: 'give an API key that may manage holds (audit:hold) by TALLYSTICK_API_KEY or --api-key',
  403: 'the API key may not manage holds here: it needs audit:hold, the role Admin or Auditor if it has roles, and the tenant',
  404: 'is this the address of a service?',
} as const;
/** Of one hold the service says itself that it is missing. */
const ONE_ADVICE = { ...ADVICE, 404: undefined } as const;

export function servedHolds(service: AskedService): ServedHolds {
  const ask = askerOf(service, ADVICE);
  const holdAt = async (path: string, options?: AskOptions) => {
    const { answer } = await ask(path, options);
    if (!isHold(answer)) throw misshapen(path);
    return answer;
  };
  return {
    list: (status) => allPages(ask, 'legal-holds', { status, limit: String(PAGE) }, isHold),
    get: (holdId) => holdAt(pathOf(holdId), { advice: ONE_ADVICE }),
    place: (body, change) => retried(change, (headers) => holdAt('legal-holds', { body, headers })),
    release: (holdId, reason, change) =>
      retried(change, (headers) =>
        holdAt(`${pathOf(holdId)}/release`, { body: { reason }, headers, advice: ONE_ADVICE }),
      ),
  };
}

function pathOf(holdId: string): string {
  return `legal-holds/${encodeURIComponent(holdId)}`;
}

/** Any server may be at the address. */
function isHold(value: unknown): value is LegalHold {
  const hold = membersOf(value);
  const { heldEvents, range } = hold;
  const { fromSequence, toSequence } = membersOf(range);
  return (
    areTexts(hold, ['holdId', 'name', 'reason', 'status', 'createdAt', 'createdBy']) &&
    areTextsIfAny(hold, ['releasedAt', 'releasedBy', 'releaseReason']) &&
    (heldEvents === undefined || isCount(heldEvents)) &&
    (range === undefined || (isCount(fromSequence) && isCount(toSequence)))
  );
}
