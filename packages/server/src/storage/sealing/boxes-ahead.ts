// Boxes that are made with the commitments of a large pool, while the writer stores the pool before it: sealing takes as long as
// storing does, and needs nothing of the log but a key. They are made for what the writer will most likely find: that the
// event is received at the time of its pool, and that the key still takes new content. The writer takes a box only if it
// would use that very key, and makes one itself otherwise, so nothing rests on what is known here.

import { eventIdBytes } from '@tallystick/evidence';
import { createExpiries } from '../../runtime/expiry.ts';
import type { AppendPool, PooledRequest } from '../pool/append-message.ts';
import { SEEDS_BYTES } from '../pool/commitments.ts';
import { CommitmentRow, type PoolCommitments } from '../pool/pool-commitments.ts';
import { contentMonthOf } from '../rows/content-month.ts';
import { BOX_BYTES_BESIDE } from './boxes.ts';
import type { PoolSealer } from './pool-sealer.ts';

export interface BoxesAhead {
  /** One box behind the other. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Where that of each draft ends, by its row; it is empty where none was made. */
  readonly ends: Uint32Array;
  /** The key of each; undefined where none was made. */
  readonly keyIds: readonly (string | undefined)[];
}

export class SealerAhead {
  readonly #sealer: PoolSealer;
  readonly #expiryAfter = createExpiries();
  readonly #row = new CommitmentRow();

  constructor(sealer: PoolSealer) {
    this.#sealer = sealer;
  }

  seal({ requests, now }: AppendPool, commitments: PoolCommitments): BoxesAhead {
    const bytes = new Uint8Array(roomFor(requests));
    const ends: number[] = [];
    const keyIds: (string | undefined)[] = [];
    let end = 0;
    for (const [place, { tenant, drafts }] of requests.entries()) {
      const isFaulty = commitments.faults.has(place);
      for (const draft of drafts) {
        this.#row.read(commitments, ends.length);
        const { retention } = draft;
        const expiresAtMs = retention === undefined ? undefined : this.#expiryAfter(now.nowMs, retention);
        const boxPlace = { tenant, eventId: eventIdBytes(draft.eventId) };
        const month = contentMonthOf(expiresAtMs);
        const sealed = isFaulty ? undefined : this.#sealer.seal(boxPlace, draft, month, this.#row.seeds);
        const made = sealed !== undefined && 'box' in sealed ? sealed : undefined;
        if (made !== undefined) bytes.set(made.box, end);
        end += made?.box.length ?? 0;
        ends.push(end);
        keyIds.push(made?.keyId);
      }
    }
    return { bytes, ends: Uint32Array.from(ends), keyIds };
  }
}

/** The box that was made for the draft of this row with this key. */
export function boxAhead(
  { bytes, ends, keyIds }: BoxesAhead,
  row: number,
  keyId: string,
): Uint8Array | undefined {
  return keyIds[row] === keyId ? bytes.subarray(row === 0 ? 0 : ends[row - 1], ends[row]) : undefined;
}

function roomFor(requests: readonly PooledRequest[]): number {
  let bytes = 0;
  for (const { drafts } of requests)
    for (const { texts } of drafts)
      bytes += BOX_BYTES_BESIDE + texts[0].length + texts[1].length + SEEDS_BYTES;
  return bytes;
}
