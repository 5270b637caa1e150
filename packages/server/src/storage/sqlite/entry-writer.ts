// Gives a draft its place: links it to the head, writes entry and content, and moves the head on. Time in a log never
// runs backwards, whatever the clock does.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { ENTRY_BYTES, leafHash, writeEntry } from '@tallystick/evidence';
import type { Placed } from '../../streams/log.ts';
import type { PooledDraft } from './append-message.ts';
import type { Head, Heads } from './heads.ts';
import { CommitmentRow, type PoolCommitments } from './pool-commitments.ts';

export class EntryWriter {
  readonly #heads: Heads;
  readonly #insertEntry: StatementSync;
  readonly #insertContent: StatementSync;
  // Of the draft at hand; a statement has copied them when it returns.
  readonly #entry = new Uint8Array(ENTRY_BYTES);
  readonly #row = new CommitmentRow();

  constructor(db: DatabaseSync, heads: Heads) {
    this.#heads = heads;
    this.#insertEntry = db.prepare(
      `INSERT INTO entries (id, tenant, leaf_index, classification, entry, leaf, root1, root2)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#insertContent = db.prepare(
      `INSERT INTO contents (id, text1, text2, seeds, sent_fingerprint, expires_at_ms)
       VALUES (?, ?, ?, ?, ?, ?)`,
    );
  }

  /** `row` is that of the draft in the commitments. */
  append(draft: PooledDraft, commitments: PoolCommitments, row: number, head: Head, nowMs: number): Placed {
    const { kind, eventId, texts, sentFingerprint = null, expiresAtMs = null } = draft;
    const { tenant, nextIndex: index, previous } = head;
    const receivedAtMs = Math.max(nowMs, head.receivedAtMs);
    this.#row.read(commitments, row);
    const { content, root1, root2, seeds } = this.#row;
    const entry = this.#entry;
    const own = index - head.logFirstIndex;
    writeEntry({ kind, index: own, receivedAtMs, eventId, previous, content }, entry, 0);
    const leaf = leafHash(entry);
    const id = this.#heads.takeId();
    const { classification } = draft;
    this.#insertEntry.run(id, tenant, index, classification, entry, leaf, root1, root2);
    this.#insertContent.run(id, texts[0], texts[1], seeds, sentFingerprint, expiresAtMs);
    head.nextIndex = index + 1;
    head.previous = leaf;
    head.receivedAtMs = receivedAtMs;
    return { status: 'Appended', eventId, index, receivedAtMs };
  }
}
