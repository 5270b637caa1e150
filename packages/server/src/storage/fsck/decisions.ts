// Compares what no hash covers of an event – which rules have decided about it, and when it expires – with what the settings and
// policies that were in force decide (policies/past-decisions.ts). An event whose content is gone has neither: of that the purge notice
// is compared with the shortest period that it can have had.

import { EvidenceError, decodeEntry, KINDS, type Notice } from '@tallystick/evidence';
import type { DecisionVerdict, PastDecisions } from '../../policies/past-decisions.ts';
import type { PastPeriods } from '../../policies/past-periods.ts';
import { decisionNumber } from '../pool/decision-number.ts';
import { instant } from '../../runtime/clock.ts';
import { awaited, type Resumable } from '../resumable.ts';
import { classificationAt } from '../rows/classification-column.ts';
import type { SoundEntry } from './entries.ts';
import type { LogRow, RowContent } from './log-row.ts';
import { type NotedVersion, storedVersion } from './records.ts';
import { atIndex, fault } from './store-fault.ts';
import type { StoredRows } from './stored-rows.ts';

/** An entry of a lot, in order. */
export interface DecidedEntry {
  readonly sound: SoundEntry;
  /** Of a notice that tells of a record. */
  readonly noted: NotedVersion | undefined;
}

/** Of one tenant, before its first entry. */
export interface DecidedBefore {
  readonly past: PastDecisions;
  readonly periods: PastPeriods;
}

type DecisionStore<Tenant> = Pick<StoredRows<Tenant>, 'records' | 'decisions' | 'lot'>;

/** A clock may be set back between the moment when content was found expired and the commit of the notice. */
const SET_BACK_MS = 60_000;
const DECISIONS_AT_ONCE = 1000;
/** A text has up to some 8 KB. */
const TEXTS_KEPT_MAX = 1000;
/** The settings of the tenant alone have decided. */
const BY_SETTINGS = undefined;

/** Of one tenant, over all of its logs. */
export class DecisionCheck<Tenant> {
  readonly #store: DecisionStore<Tenant>;
  readonly #tenant: Tenant;
  readonly #past: PastDecisions;
  readonly #periods: PastPeriods;
  readonly #texts = new Map<number, string>();

  constructor(store: DecisionStore<Tenant>, tenant: Tenant, { past, periods }: DecidedBefore) {
    this.#store = store;
    this.#tenant = tenant;
    this.#past = past;
    this.#periods = periods;
  }

  /** The number of events of which it is not known what has decided; throws EvidenceError. */
  *take(rows: readonly LogRow[], entries: readonly DecidedEntry[]): Resumable<number> {
    let unknown = 0;
    for (const [i, { sound, noted }] of entries.entries()) {
      const { content } = rows[i]!;
      if (content === undefined) continue;
      const { decision } = content;
      try {
        if (sound.notice === undefined) {
          const text =
            decision === undefined
              ? BY_SETTINGS
              : (this.#texts.get(decision) ?? (yield* this.#textOf(decision)));
          if (this.#judge(rows[i]!, content, text, sound).status === 'Unknown') unknown++;
          continue;
        }
        requireUndecided(content);
        const at = { index: rows[i]!.sequenceIndex, receivedAtMs: sound.receivedAtMs };
        if (noted !== undefined) yield* this.#changed(noted, at);
        yield* this.#requireOver(sound.notice, at);
      } catch (error) {
        throw error instanceof EvidenceError ? atIndex(error, sound.index) : error;
      }
    }
    return unknown;
  }

  #judge(
    { classification }: LogRow,
    { text1, text2, closed, expiresAtMs }: RowContent,
    decidedBy: string | undefined,
    { receivedAtMs }: SoundEntry,
  ): DecisionVerdict {
    const verdict = this.#past.judge({
      receivedAtMs,
      classification: classificationAt(classification),
      texts: [text1, text2],
      isWhole: closed === undefined,
      decidedBy,
      expiresAtMs,
    });
    if (verdict.status === 'Differs') throw fault('LEAF_MISMATCH', verdict.why);
    return verdict;
  }

  *#textOf(decision: number): Resumable<string> {
    const [row] = yield* awaited(this.#store.decisions(this.#tenant, decision - 1, 1));
    if (row?.decision !== decision)
      throw fault('LEAF_MISMATCH', `was decided as decision ${decision} says, and there is none`);
    requireNumber(row);
    if (this.#texts.size >= TEXTS_KEPT_MAX) this.#texts.clear();
    this.#texts.set(decision, row.body);
    return row.body;
  }

  *#changed(noted: NotedVersion, at: NoticePlace): Resumable<void> {
    if (!this.#past.isAbout(noted.kind)) return;
    const committed = yield* storedVersion(this.#store, this.#tenant, noted);
    this.#past.changed(noted, committed, at.receivedAtMs);
    this.#periods.changed(noted, committed, at);
  }

  /** Whatever has decided about the events that a purge names: at its time, not even the shortest retention may have lasted. */
  *#requireOver({ index: noticeIndex, kind, payload }: Notice, at: NoticePlace): Resumable<void> {
    if (kind !== KINDS.purge || payload.cause !== 'Retention') return;
    const { policyId, policyVersion, ranges } = payload;
    const policy = policyId === null || policyVersion === null ? undefined : { policyId, policyVersion };
    const logBegin = at.index - noticeIndex;
    for (const [begin, end] of ranges)
      for (let from = begin + logBegin; from < end + logBegin; ) {
        const rows = yield* awaited(this.#store.lot(this.#tenant, from, end + logBegin - 1));
        if (rows.length === 0) break;
        for (const { entry, sequenceIndex: index } of rows) {
          const { receivedAtMs } = decodeEntry(entry);
          const endsAtMs = this.#periods.earliestEnd({ index, receivedAtMs }, policy);
          if (endsAtMs !== undefined && endsAtMs > at.receivedAtMs + SET_BACK_MS)
            throw tooEarly(noticeIndex, index - logBegin, endsAtMs);
        }
        from = rows.at(-1)!.sequenceIndex + 1;
      }
  }

  /** Called after the last entry: what no event that is left refers to must be what its number says, too. */
  *end(): Resumable<void> {
    for (let last: number | undefined; ; ) {
      const portion = yield* awaited(this.#store.decisions(this.#tenant, last, DECISIONS_AT_ONCE));
      if (portion.length === 0) return;
      for (const row of portion) requireNumber(row);
      last = portion.at(-1)!.decision;
    }
  }
}

interface NoticePlace {
  /** In the tenant's sequence. */
  readonly index: number;
  readonly receivedAtMs: number;
}

function tooEarly(noticeIndex: number, index: number, endsAtMs: number): EvidenceError {
  const why =
    endsAtMs === Infinity
      ? 'by a policy that was not in force when it was received'
      : `before its retention could have ended, at ${instant(endsAtMs)}`;
  return fault(
    'NOTICE_INVALID',
    `the notice says that the event at index ${index} was purged ${why}`,
    noticeIndex,
  );
}

function requireNumber({ decision, body }: { decision: number; body: string }): void {
  if (decisionNumber(body) !== decision)
    throw fault('LEAF_MISMATCH', `the text of decision ${decision} is not the one that it is the hash of`);
}

/** A notice stays for ever, and nobody decides about it. */
function requireUndecided({ expiresAtMs, decision }: RowContent): void {
  if (expiresAtMs !== undefined || decision !== undefined)
    throw fault('LEAF_MISMATCH', 'is a notice, which never expires, and its row says otherwise');
}
