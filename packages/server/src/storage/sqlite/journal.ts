// Appending to journal.db: one transaction for a whole pool of requests of many tenants. Commitments are there before
// the lock is taken; keys and ids are looked up after it, so that of two that ask the same thing one stores and the
// other finds it. A request with a fault of its own is left out and the rest commits without it.
// When append throws anything, nothing is known of the commit: the owner opens the database anew.

import { ok as assert } from 'node:assert/strict';
import type { DatabaseSync } from 'node:sqlite';
import type { AppendFault, AppendResult, AppendTime, DraftOutcome } from '../../streams/log.ts';
import type { AppendPool, PooledDraft, PooledRequest } from './append-message.ts';
import { ChainGuard, TenantFault } from './chain-guard.ts';
import { inTransaction } from './database.ts';
import { EntryWriter } from './entry-writer.ts';
import { type Head, Heads } from './heads.ts';
import type { PoolCommitments } from './pool-commitments.ts';
import { type Recognized, Recognizer } from './recognizer.ts';
import { isSameFingerprint, UsedKeys } from './used-keys.ts';

export interface JournalOptions {
  /** The name under which the logs are signed. */
  readonly logOrigin: string;
  readonly nextId: () => string;
}

type Result = AppendResult | AppendFault;

/** What the drafts of a request are appended with. */
interface Given {
  readonly commitments: PoolCommitments;
  /** That of its first draft. */
  readonly firstRow: number;
  readonly now: AppendTime;
}

export class Journal {
  readonly #db: DatabaseSync;
  readonly #heads: Heads;
  readonly #usedKeys: UsedKeys;
  readonly #recognizer: Recognizer;
  readonly #entryWriter: EntryWriter;
  readonly #chainGuard: ChainGuard;

  constructor(db: DatabaseSync, { logOrigin, nextId }: JournalOptions) {
    this.#db = db;
    this.#heads = new Heads(db, logOrigin);
    this.#usedKeys = new UsedKeys(db);
    this.#recognizer = new Recognizer(db);
    this.#entryWriter = new EntryWriter(db, { heads: this.#heads, nextId });
    this.#chainGuard = new ChainGuard(db);
  }

  append({ requests, now }: AppendPool, commitments: PoolCommitments): Result[] {
    const faults = new Map<PooledRequest, Error>();
    for (const [i, message] of commitments.faults) faults.set(requests[i]!, new Error(message));
    for (;;) {
      try {
        return inTransaction(this.#db, () => {
          this.#heads.refresh();
          const firstId = this.#heads.nextId;
          let row = 0;
          const results = requests.map((request): Result => {
            const firstRow = row;
            row += request.drafts.length;
            const fault = faults.get(request);
            if (fault !== undefined) return { status: 'Faulty', error: fault };
            return this.#appendRequest(request, { commitments, firstRow, now });
          });
          this.#chainGuard.demandChain(firstId);
          return results;
        });
      } catch (error) {
        this.#heads.forget();
        if (!(error instanceof TenantFault)) throw error;
        const own = requests.filter((request) => request.tenant === error.tenant && !faults.has(request));
        // Nothing would be left out of the next attempt.
        if (own.length === 0) throw error;
        for (const request of own) faults.set(request, error);
      }
    }
  }

  /** Removes a portion of the keys whose window has ended; true when there may be more. */
  sweepUsedKeys(steadyNowMs: number): boolean {
    return this.#usedKeys.sweep(steadyNowMs);
  }

  #appendRequest(request: PooledRequest, given: Given): Result {
    const { now } = given;
    const head = this.#heads.of(request.tenant);
    if (head === undefined) {
      return { status: 'Faulty', error: new Error(`there is no tenant ${request.tenant}`) };
    }
    const { once } = request;
    if (once !== undefined) {
      const used = this.#usedKeys.find(head.tenant, once.operation, once.key, now.steadyNowMs);
      if (used !== undefined) {
        const isSame = isSameFingerprint(used.fingerprint, once.fingerprint);
        return isSame ? { status: 'Repeated', used } : { status: 'KeyReused' };
      }
    }
    const outcomes = this.#place(request, head, given);
    if (once !== undefined && outcomes.some((outcome) => 'index' in outcome)) {
      this.#usedKeys.put(head.tenant, once, outcomes);
    }
    return { status: 'Done', outcomes };
  }

  #place(
    { tenant, drafts, atomic }: PooledRequest,
    head: Head,
    { commitments, firstRow, now }: Given,
  ): DraftOutcome[] {
    const recognized = this.#recognizer.recognize(head.tenant, drafts);
    if (atomic && recognized.some((found) => found === 'Conflict')) {
      return drafts.map(({ eventId }, i) => ({
        status: recognized[i] === 'Conflict' ? 'Conflict' : 'NotAppended',
        eventId,
      }));
    }
    const outcomes: DraftOutcome[] = [];
    try {
      for (let i = 0; i < drafts.length; i++) {
        const draft = drafts[i]!;
        const found = outcomeOf(recognized[i], draft, outcomes);
        outcomes.push(found ?? this.#entryWriter.append(draft, commitments, firstRow + i, head, now.nowMs));
      }
    } catch (error) {
      throw isConstraint(error) ? new TenantFault(tenant, error.message, error) : error;
    }
    return outcomes;
  }
}

/** Of a draft whose id is there already; undefined for one that is to be appended. */
function outcomeOf(
  found: Recognized,
  { eventId }: PooledDraft,
  before: readonly DraftOutcome[],
): DraftOutcome | undefined {
  if (found === undefined) return undefined;
  if (found === 'Conflict') return { status: 'Conflict', eventId };
  const placed = typeof found === 'number' ? before[found] : found;
  assert(placed !== undefined && 'index' in placed, 'an earlier draft with the same id was appended');
  return { status: 'Duplicate', eventId, index: placed.index, receivedAtMs: placed.receivedAtMs };
}

const SQLITE_CONSTRAINT = 19;

function isConstraint(error: unknown): error is Error {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return false;
  return (error.errcode & 0xff) === SQLITE_CONSTRAINT;
}
