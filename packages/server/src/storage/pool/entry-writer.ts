// Appends a draft: links it to the head, writes entry and content, and moves the head. Time in a log never runs
// backwards, even if the clock does. The content expires its retention after that time.

import { ENTRY_BYTES, writeEntry } from '@tallystick/evidence';
import { createExpiries } from '../../runtime/expiry.ts';
import type { Placed } from '../../streams/log.ts';
import type { PooledDraft } from './append-message.ts';
import type { Head } from './head.ts';
import { CommitmentRow, type PoolCommitments } from './pool-commitments.ts';
import type { PoolTables } from './pool-tables.ts';
import { fastLeafHash } from '../tree/leaf-hashes.ts';

export class EntryWriter<H extends Head> {
  readonly #tables: PoolTables<H>;
  // Reused for each draft.
  readonly #entry = new Uint8Array(ENTRY_BYTES);
  readonly #row = new CommitmentRow();
  readonly #expiryAfter = createExpiries();

  constructor(tables: PoolTables<H>) {
    this.#tables = tables;
  }

  /** `row` is the draft's row in the commitments. */
  append(draft: PooledDraft, commitments: PoolCommitments, row: number, head: H, nowMs: number): Placed {
    const { kind, eventId, retention } = draft;
    const { nextIndex: index, previous } = head;
    const receivedAtMs = Math.max(nowMs, head.receivedAtMs);
    const expiresAtMs = retention === undefined ? undefined : this.#expiryAfter(receivedAtMs, retention);
    this.#row.read(commitments, row);
    const { content } = this.#row;
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
      commitments: this.#row,
    });
    head.nextIndex = index + 1;
    head.previous = leaf;
    head.receivedAtMs = receivedAtMs;
    return { status: 'Appended', eventId, index, receivedAtMs };
  }
}
