// Messages that are out of attempts: looked at, and tried again. Today they are events that could not be indexed.

import {
  type Answer,
  AuditError,
  type DeadLetter,
  ERRORS,
  type InputOf,
  LIMITS,
  type TenantId,
} from '@tallystick/contract';
import type { Call } from '../call.ts';
import { type Cursors, isId, newestFirst, readPage, type RowsWish } from '../paging.ts';
import { type Clock, instant } from '../runtime/clock.ts';
import { RememberedKeys } from './remembered-keys.ts';

/** An event that a follower could not handle. */
export interface HeldLetter {
  readonly messageId: string;
  readonly reason: string;
  readonly attempts: number;
  readonly firstFailedAtMs: number;
  readonly lastFailedAtMs: number;
}

export interface LetterStore {
  letters(tenant: TenantId, wish: RowsWish): Promise<HeldLetter[]>;
  letterCount(tenant: TenantId): Promise<number>;
  letterCountOfAll(): Promise<number>;
  /** Tries it again; gives it as it was, undefined if there is none. */
  reprocess(tenant: TenantId, messageId: string): Promise<HeldLetter | undefined>;
}

/** How many there are: what status and metrics show. */
export interface DeadLetterCounts {
  readonly ofTenant: (tenant: TenantId) => Promise<number>;
  readonly ofAll: () => Promise<number>;
}

export interface LetterParts {
  readonly letters: LetterStore;
  readonly cursors: Cursors;
  readonly clock: Clock;
}

export function createDeadLetters({ letters, cursors, clock }: LetterParts) {
  const keys = new RememberedKeys<DeadLetter>(clock);
  return {
    async 'deadLetters.list'(
      call: Call,
      input: InputOf<'deadLetters.list'>,
    ): Promise<Answer<'deadLetters.list'>> {
      const tenant = call.tenant!;
      const read = readPage(cursors, call, input, isId);
      // No letter of ours has a subscription, and none is being tried again once it can be seen.
      const { source = ['Projection'], status = ['Held'], subscriptionId } = input;
      const isAsked =
        source.includes('Projection') && status.includes('Held') && subscriptionId === undefined;
      const rows = isAsked ? await letters.letters(tenant, newestFirst(read)) : [];
      const count = isAsked ? await letters.letterCount(tenant) : 0;
      const { data, pagination } = read.page(rows, ({ messageId }) => messageId, count);
      return {
        kind: 'Done',
        body: { data: data.map((letter) => shown(tenant, letter, 'Held')), pagination },
      };
    },
    'deadLetters.reprocess': {
      async perform(
        call: Call,
        { messageId }: InputOf<'deadLetters.reprocess'>,
      ): Promise<Answer<'deadLetters.reprocess'>> {
        const answered = keys.answered(call);
        if (answered !== undefined) return answered;
        const letter = await letters.reprocess(call.tenant!, messageId);
        if (letter === undefined) throw new AuditError('MESSAGE_NOT_FOUND', ERRORS.MESSAGE_NOT_FOUND.meaning);
        const body = shown(call.tenant!, letter, 'Reprocessing');
        keys.remember(call, body);
        return { kind: 'Accepted', body };
      },
      again: keys.again,
    },
  };
}

function shown(tenantId: TenantId, letter: HeldLetter, status: DeadLetter['status']): DeadLetter {
  const { messageId, reason, attempts, firstFailedAtMs, lastFailedAtMs } = letter;
  return {
    messageId,
    source: 'Projection',
    tenantId,
    reason,
    attempts,
    firstFailedAt: instant(firstFailedAtMs),
    lastFailedAt: instant(lastFailedAtMs),
    expiresAt: instant(lastFailedAtMs + LIMITS.deadLetterLifetimeMs),
    status,
  };
}

export function letterCounts(letters: LetterStore): DeadLetterCounts {
  return { ofTenant: (tenant) => letters.letterCount(tenant), ofAll: () => letters.letterCountOfAll() };
}
