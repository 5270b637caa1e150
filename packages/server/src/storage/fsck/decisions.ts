// Compares what no hash covers of an event – which rules have decided about it, and when it expires – with what the settings and
// policies that were in force decide (policies/past-decisions.ts). An event whose content is gone has neither.

import { EvidenceError } from '@tallystick/evidence';
import type { DecisionVerdict, PastDecisions } from '../../policies/past-decisions.ts';
import { decisionNumber } from '../pool/decision-number.ts';
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

const DECISIONS_AT_ONCE = 1000;
/** A text has up to some 8 KB. */
const TEXTS_KEPT_MAX = 1000;
/** The settings of the tenant alone have decided. */
const BY_SETTINGS = undefined;

/** Of one tenant, over all of its logs. */
export class DecisionCheck<Tenant> {
  readonly #store: Pick<StoredRows<Tenant>, 'records' | 'decisions'>;
  readonly #tenant: Tenant;
  readonly #past: PastDecisions;
  readonly #texts = new Map<number, string>();

  constructor(store: Pick<StoredRows<Tenant>, 'records' | 'decisions'>, tenant: Tenant, past: PastDecisions) {
    this.#store = store;
    this.#tenant = tenant;
    this.#past = past;
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
        if (noted !== undefined) yield* this.#changed(noted, sound.receivedAtMs);
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

  *#changed(noted: NotedVersion, receivedAtMs: number): Resumable<void> {
    if (!this.#past.isAbout(noted.kind)) return;
    this.#past.changed(noted, yield* storedVersion(this.#store, this.#tenant, noted), receivedAtMs);
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

function requireNumber({ decision, body }: { decision: number; body: string }): void {
  if (decisionNumber(body) !== decision)
    throw fault('LEAF_MISMATCH', `the text of decision ${decision} is not the one that it is the hash of`);
}

/** A notice stays for ever, and nobody decides about it. */
function requireUndecided({ expiresAtMs, decision }: RowContent): void {
  if (expiresAtMs !== undefined || decision !== undefined)
    throw fault('LEAF_MISMATCH', 'is a notice, which never expires, and its row says otherwise');
}
