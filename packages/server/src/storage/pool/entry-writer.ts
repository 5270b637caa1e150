// Appends a draft: links it to the head, writes entry and content, and moves the head. Time in a log never runs
// backwards, even if the clock does. The content expires its retention after that time.

import { ENTRY_BYTES, EVENT_ID_AT, PREVIOUS_AT, writeEntry } from '@tallystick/evidence';
import { createExpiries } from '../../runtime/expiry.ts';
import type { Placed } from '../../streams/log.ts';
import type { PooledDraft } from './append-message.ts';
import type { Head } from './head.ts';
import { CommitmentRow, type PoolCommitments } from './pool-commitments.ts';
import type { NewContent, PoolTables } from './pool-tables.ts';
import { contentMonthOf } from '../rows/content-month.ts';
import type { PoolSealer, RowAhead } from '../sealing/pool-sealer.ts';
import { fastLeafHash } from '../tree/leaf-hashes.ts';

const NO_BYTES = new Uint8Array(0);
const NO_CONTENT = { text1: NO_BYTES, text2: NO_BYTES, seeds: NO_BYTES };

export class EntryWriter<H extends Head> {
  readonly #tables: PoolTables<H>;
  readonly #sealer: PoolSealer | undefined;
  // Reused for each draft.
  readonly #entry = new Uint8Array(ENTRY_BYTES);
  readonly #eventId = this.#entry.subarray(EVENT_ID_AT, PREVIOUS_AT);
  readonly #row = new CommitmentRow();
  readonly #expiryAfter = createExpiries();

  /** Without a sealer all content is stored in the clear. */
  constructor(tables: PoolTables<H>, sealer: PoolSealer | undefined) {
    this.#tables = tables;
    this.#sealer = sealer;
  }

  /** `row` is the draft's row in the commitments. */
  append(draft: PooledDraft, commitments: PoolCommitments, row: number, head: H, nowMs: number): Placed {
    const { kind, eventId, retention } = draft;
    const { nextIndex: index, previous } = head;
    const receivedAtMs = Math.max(nowMs, head.receivedAtMs);
    const expiresAtMs = retention === undefined ? undefined : this.#expiryAfter(receivedAtMs, retention);
    this.#row.read(commitments, row);
    const { content } = this.#row;
    const { boxes } = commitments;
    const entry = this.#entry;
    const own = index - head.logFirstIndex;
    writeEntry({ kind, index: own, receivedAtMs, eventId, previous, content }, entry, 0);
    const leaf = fastLeafHash(entry);
    this.#tables.putEntry(head, {
      index,
      receivedAtMs,
      expiresAtMs,
      entry,
      leaf,
      draft,
      roots: this.#row,
      content: this.#contentOf(draft, head, expiresAtMs, boxes && { boxes, row }),
    });
    head.nextIndex = index + 1;
    head.previous = leaf;
    head.receivedAtMs = receivedAtMs;
    return { status: 'Appended', eventId, index, receivedAtMs };
  }

  #contentOf(
    draft: PooledDraft,
    { tenantId }: H,
    expiresAtMs: number | undefined,
    ahead: RowAhead | undefined,
  ): NewContent {
    const { seeds } = this.#row;
    const sealed = this.#sealer?.seal(
      { tenant: tenantId, eventId: this.#eventId },
      draft,
      contentMonthOf(expiresAtMs),
      seeds,
      ahead,
    );
    if (sealed === undefined)
      return { text1: draft.texts[0], text2: draft.texts[1], seeds, keyId: undefined };
    // Nothing that is to be sealed may reach the disk in the clear, not even in what is rolled back.
    if ('missing' in sealed) return { ...NO_CONTENT, keyId: undefined, missing: sealed.missing };
    return { ...NO_CONTENT, text1: sealed.box, keyId: sealed.keyId };
  }
}
