// Finds notices of removals that ignored a hold: what a hold covered must not be removed between the notice that tells of its
// placement and that of its release (holds/past-holds.ts). The order of the notices alone tells it, afterwards and for ever, also
// where the hold was gone from the database only while the removal ran.

import { isNotice, KINDS, type Notice, readLink } from '@tallystick/evidence';
import type { PastHolds } from '../../holds/past-holds.ts';
import type { IndexSpan } from '../../streams/removal/removal.ts';
import { awaited, type Resumable } from '../resumable.ts';
import { classificationAt } from '../rows/classification-column.ts';
import { deletedIn } from '../rows/punctured.ts';
import type { DecidedEntry } from './decisions.ts';
import { storedVersion } from './records.ts';
import { fault } from './store-fault.ts';
import type { StoredRows } from './stored-rows.ts';

type Rows<Tenant> = Pick<StoredRows<Tenant>, 'records' | 'lot'>;

/** Of one tenant, over all of its logs. */
export class HeldCheck<Tenant> {
  readonly #store: Rows<Tenant>;
  readonly #tenant: Tenant;
  readonly #past: PastHolds;

  constructor(store: Rows<Tenant>, tenant: Tenant, past: PastHolds) {
    this.#store = store;
    this.#tenant = tenant;
    this.#past = past;
  }

  /** `logFirstIndex` is the first index of their log in the tenant's sequence. Throws EvidenceError. */
  *take(entries: readonly DecidedEntry[], logFirstIndex: number): Resumable<void> {
    for (const { sound, noted } of entries) {
      const { notice } = sound;
      if (noted !== undefined && this.#past.isAbout(noted.kind))
        this.#past.changed(noted, yield* storedVersion(this.#store, this.#tenant, noted));
      if (notice?.kind === KINDS.purge)
        for (const [from, to] of notice.payload.ranges) {
          const span = { firstIndex: from + logFirstIndex, endIndex: to + logFirstIndex };
          yield* this.#requireFree(notice, span);
        }
      if (notice?.kind === KINDS.redaction)
        yield* this.#requireUnheld(notice, notice.payload.leafIndex + logFirstIndex);
    }
  }

  *#requireFree(notice: Notice, removed: IndexSpan): Resumable<void> {
    for (const { id, ...span } of this.#past.heldIn(removed)) {
      const event = yield* this.#firstEvent(span);
      if (event !== undefined) throw ignored(notice, event, id);
    }
  }

  /** A range goes over notices, which keep their content. */
  *#firstEvent({ firstIndex, endIndex }: IndexSpan): Resumable<number | undefined> {
    for (let from = firstIndex; from < endIndex; ) {
      const rows = yield* awaited(this.#store.lot(this.#tenant, from, endIndex - 1));
      const event = rows.find(({ entry }) => !isNotice(readLink(entry, 0).kind));
      if (event !== undefined) return event.sequenceIndex;
      if (rows.length === 0) return undefined;
      from = rows.at(-1)!.sequenceIndex + 1;
    }
    return undefined;
  }

  *#requireUnheld(notice: Notice, index: number): Resumable<void> {
    yield* this.#requireFree(notice, { firstIndex: index, endIndex: index + 1 });
    const [row] = yield* awaited(this.#store.lot(this.#tenant, index, index));
    if (row?.content === undefined || row.content.sealedFault !== undefined) return;
    const { text1, text2, closed } = row.content;
    const [id] = this.#past.holding({
      index,
      classification: classificationAt(row.classification),
      texts: [text1, text2],
      deletedPaths: deletedIn(closed).flatMap((units) => units.map(({ path }) => path)),
    });
    if (id !== undefined) throw ignored(notice, index, id);
  }
}

function ignored(notice: Notice, event: number, id: string): Error {
  return fault(
    'NOTICE_INVALID',
    `the notice at index ${notice.index} removes something of the event at index ${event}, which ${id} held: a legal hold, or a policy whose rule holds`,
    notice.index,
  );
}
