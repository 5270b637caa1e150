// The pieces that the file of an export is made of: of the log from its beginning to the end of the snapshot, or of what the index finds.
// The index may be behind the log, and knows nothing of content that was removed since. So it is waited for, and an export of which
// something was removed since its snapshot fails: what is made is complete.

import { LIMITS } from '@tallystick/contract';
import type { EventIndex, Found, Question, SortKey } from '../events/event-index.ts';
import { type Clock, wait } from '../runtime/clock.ts';
import { Deadline } from '../runtime/deadline.ts';
import type { RemovalStore } from '../streams/removal/removal.ts';
import { ExportFailure, removedSince } from './export-failure.ts';
import type { NextPlace } from './export-files.ts';
import type { Done } from './making-progress.ts';
import { type Before, behind, type Piece, type Shaping, type ShapingPlan } from './shaping.ts';

export interface PieceParts {
  readonly shaping: Shaping;
  readonly index: Pick<EventIndex, 'forTenant'>;
  readonly removal: Pick<RemovalStore, 'deletions'>;
  readonly clock: Clock;
}

export type Asked = Omit<Question, 'beyond' | 'rowsMax'>;

/** While there is something to wait for. */
export interface Waiting {
  readonly signal: AbortSignal;
  /** Throws where it is not. */
  readonly requireWanted: () => Promise<void>;
}

const FOUND_AT_ONCE = 500;
const INDEXED_EVERY_MS = 250;
/** An index that comes no further for so long is not waited for. */
const INDEXED_MS_MAX = 600_000;
const DELETIONS_AT_ONCE = 1000;

export interface NextPiece {
  readonly piece: Piece;
  readonly next: NextPlace;
  readonly progress: Pick<Done, 'totalEvents' | 'share' | 'isBound'>;
}

export type Pieces = (
  start: NextPlace | undefined,
  before: Before,
) => AsyncGenerator<NextPiece, void, undefined>;

export function piecesOfLog(plan: ShapingPlan, { shaping }: Pick<PieceParts, 'shaping'>): Pieces {
  const { fromIndex, endIndex } = plan;
  return async function* (start, before) {
    let known = before;
    const from = start !== undefined && 'index' in start ? start.index : fromIndex;
    const shape = (index: number) => inAdvance(shaping.shape(plan, { of: 'Log', from: index }, known));
    let asked = from < endIndex ? shape(from) : undefined;
    while (asked !== undefined) {
      const piece: Piece = await asked;
      known = behind(known, piece);
      asked = piece.next < endIndex ? shape(piece.next) : undefined;
      const progress = {
        totalEvents: undefined,
        share: (piece.next - fromIndex) / (endIndex - fromIndex),
        isBound: false,
      };
      yield { piece, next: { index: piece.next }, progress };
    }
  };
}

/** Nobody may wait for it any more when it fails. */
function inAdvance<T>(asked: Promise<T>): Promise<T> {
  asked.catch(() => {});
  return asked;
}

export function piecesFound(plan: ShapingPlan, question: Asked, waiting: Waiting, parts: PieceParts): Pieces {
  const { shaping } = parts;
  const find = (beyond: SortKey | undefined) =>
    inAdvance(findAll(plan, { ...question, beyond }, waiting, parts));
  return async function* (start, before) {
    let known = before;
    let asked = find(start !== undefined && 'beyond' in start ? start.beyond : undefined);
    for (;;) {
      const found = await asked;
      const last = found.events.at(-1)?.place;
      if (last === undefined) return requireNothingRemoved(plan, parts);
      asked = find(last);
      const events = found.events.map(({ stored }) => stored).filter((each) => each.index < plan.endIndex);
      const piece = await shaping.shape(plan, { of: 'Found', events }, known);
      known = behind(known, piece);
      yield {
        piece,
        next: { beyond: last },
        progress: progressFound(plan, question, found.total, known, last),
      };
    }
  };
}

/** A page that the whole snapshot was searched for. */
async function findAll(
  { tenant, endIndex }: ShapingPlan,
  question: Omit<Question, 'rowsMax'>,
  { signal, requireWanted }: Waiting,
  { index, clock }: PieceParts,
): Promise<Found> {
  const ofTenant = index.forTenant(tenant);
  let reached = -1;
  for (let quietMs = 0; quietMs < INDEXED_MS_MAX; quietMs += INDEXED_EVERY_MS) {
    const { indexedEvents } = await ofTenant.state();
    if (indexedEvents >= endIndex) {
      const found = await ofTenant.find({ ...question, rowsMax: FOUND_AT_ONCE }, new Deadline());
      // The index may have been thrown away meanwhile.
      if (found.state.indexedEvents >= endIndex) {
        if (found.events.length === 0 && found.isCut)
          throw new Error('the log does not have what the index finds');
        return found;
      }
    }
    if (indexedEvents > reached) [reached, quietMs] = [indexedEvents, 0];
    await wait(clock, INDEXED_EVERY_MS, signal);
    signal.throwIfAborted();
    await requireWanted();
  }
  throw new ExportFailure(
    'Timeout',
    `Searches find the first ${reached} events of this tenant, and the export needs ${endIndex}: the index is being made and came no further for ${INDEXED_MS_MAX / 1000} s.`,
    true,
  );
}

/** The index finds nothing of what was removed, and nobody can tell any more whether that was asked for. */
async function requireNothingRemoved(
  { tenant, fromIndex, endIndex }: ShapingPlan,
  { removal }: PieceParts,
): Promise<void> {
  for (let firstIndex = fromIndex; firstIndex < endIndex; ) {
    const portion = await removal.deletions(tenant, { firstIndex, endIndex }, DELETIONS_AT_ONCE);
    const since = portion.find(({ noticeIndex }) => noticeIndex >= endIndex);
    if (since !== undefined) throw removedSince(Math.max(since.firstIndex, fromIndex));
    const last = portion.at(-1);
    if (last === undefined || portion.length < DELETIONS_AT_ONCE) return;
    firstIndex = last.endIndex;
  }
}

/** Past a limit nobody counts what is found; in the order of the log its place tells how far it has come. */
function progressFound(
  { fromIndex, endIndex }: ShapingPlan,
  { order }: Asked,
  total: number,
  { events }: Before,
  last: SortKey,
): NextPiece['progress'] {
  // What came meanwhile is counted, too, and does not belong to it.
  if (fromIndex === 0 && total <= LIMITS.listExactTotalMax)
    return { totalEvents: total, share: events / Math.max(1, total), isBound: false };
  const isInOrderOfLog = order.length === 0;
  const share = (isInOrderOfLog ? last.index + 1 - fromIndex : events) / (endIndex - fromIndex);
  return { totalEvents: undefined, share: Math.min(1, share), isBound: !isInOrderOfLog };
}
