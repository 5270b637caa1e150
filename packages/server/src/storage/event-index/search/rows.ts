// The rows of a piece of the log that a page may show, in the order that is asked for. Few are gathered and sorted; of many
// the order itself is walked, from where the page begins, and only as far as it is needed.

import { eventIdBytes } from '@tallystick/evidence';
import type { OrderStep, SortKey } from '../../../events/event-index.ts';
import type { Direction } from '../../../paging.ts';
import { termOf } from '../segments/bytes.ts';
import { DocSet } from '../segments/doc-set.ts';
import { eventIdAt, eventIdIn, PieceOrder } from './positions.ts';
import { allOf, type Searched } from '../segments/searched.ts';
import { COLUMN_DOCS } from '../segments/segment-format.ts';

export interface Row {
  readonly piece: Searched;
  readonly doc: number;
  readonly atMs: number;
  readonly atNs: number;
  /** As a byte string; empty where the order does not need it. */
  readonly action: string;
  /** As a byte string; empty where the order does not need it. */
  readonly eventId: string;
}

/** What rows are compared by, and their indexes after that. */
type Key = Pick<Row, 'atMs' | 'atNs' | 'action' | 'eventId'>;

const GATHERED_MAX = 4096;
const WALKED = 512;

/** An order that leaves no two rows equal. */
export class RowOrder {
  readonly steps: readonly OrderStep[];
  readonly isIndexDescending: boolean;
  readonly needsAction: boolean;
  readonly needsEventId: boolean;

  /** Up to here docs are gathered and sorted; of more the order is walked. */
  readonly gatheredMax: number;

  /** Backwards it is against the order: for pages that lead back. */
  constructor(steps: readonly OrderStep[], direction: Direction, gatheredMax = GATHERED_MAX) {
    const turned =
      direction === 'Next' ? steps : steps.map((step) => ({ ...step, isDescending: !step.isDescending }));
    const last = turned.at(-1)?.isDescending ?? direction === 'Previous';
    const uses = (field: OrderStep['field']) => turned.some((step) => step.field === field);
    // Without any step it is the order of the log.
    const isWhole = turned.length === 0 || uses('timestamp') || uses('eventId');
    this.steps = isWhole ? turned : [...turned, { field: 'timestamp', isDescending: last }];
    this.isIndexDescending = last;
    this.gatheredMax = gatheredMax;
    this.needsAction = uses('action');
    this.needsEventId = uses('eventId');
  }

  compare(a: Row, b: Row): number {
    return this.#compareKeys(a, indexOf(a), b, indexOf(b));
  }

  /** Those that lie beyond a place. */
  beyond(rows: readonly Row[], place: SortKey | undefined): readonly Row[] {
    if (place === undefined) return rows;
    const key = { ...place, action: termOf(place.action), eventId: eventIdTerm(place.eventId) };
    return rows.filter((row) => this.#compareKeys(row, indexOf(row), key, place.index) > 0);
  }

  /** Rows are compared so often that nothing is made of them here. */
  #compareKeys(a: Key, aIndex: number, b: Key, bIndex: number): number {
    for (const { field, isDescending } of this.steps) {
      const order = compareField(field, a, b);
      if (order !== 0) return isDescending ? -order : order;
    }
    return this.isIndexDescending ? bIndex - aIndex : aIndex - bIndex;
  }
}

export function indexOf({ piece, doc }: Pick<Row, 'piece' | 'doc'>): number {
  return piece.firstIndex + doc;
}

function eventIdTerm(eventId: string): string {
  return Buffer.from(eventIdBytes(eventId)).toString('latin1');
}

function compareField(field: OrderStep['field'], a: Key, b: Key): number {
  if (field === 'timestamp') return a.atMs - b.atMs || a.atNs - b.atNs;
  const left = field === 'action' ? a.action : a.eventId;
  const right = field === 'action' ? b.action : b.eventId;
  return left < right ? -1 : left > right ? 1 : 0;
}

/** In order, some at a time, from what lies beyond a place. */
export function rowsIn(
  piece: Searched,
  docs: DocSet,
  order: RowOrder,
  beyond: SortKey | undefined,
): AsyncGenerator<readonly Row[]> {
  return walk({ piece, order, beyond }, docs, order.steps);
}

interface Walk {
  readonly piece: Searched;
  readonly order: RowOrder;
  readonly beyond: SortKey | undefined;
}

async function* walk(
  walked: Walk,
  docs: DocSet,
  [step, ...rest]: readonly OrderStep[],
): AsyncGenerator<readonly Row[]> {
  if (docs.count <= walked.order.gatheredMax) yield await sortedRows(walked, docs.list());
  else if (step === undefined) yield* walkLog(walked, docs);
  else if (step.field === 'action') yield* walkActions(walked, docs, step, rest);
  else yield* walkOrder(walked, docs, step, rest.length === 0);
}

/** All of them. */
async function sortedRows({ piece, order, beyond }: Walk, docs: ArrayLike<number>): Promise<Row[]> {
  const rows = await readRows(piece, docs, order);
  return order.beyond(rows, beyond).toSorted((a, b) => order.compare(a, b));
}

/** The order of the log is that of the docs. */
async function* walkLog(walked: Walk, docs: DocSet): AsyncGenerator<readonly Row[]> {
  const { piece, order, beyond } = walked;
  const step = order.isIndexDescending ? -1 : 1;
  const first = order.isIndexDescending ? piece.docs - 1 : 0;
  const next = beyond === undefined ? first : beyond.index - piece.firstIndex + step;
  const isPassed = order.isIndexDescending ? next > first : next < first;
  for (let at = isPassed ? first : next; at >= 0 && at < piece.docs; at += step * COLUMN_DOCS) {
    const length = Math.min(COLUMN_DOCS, step > 0 ? piece.docs - at : at + 1);
    const found = docs.among(Uint32Array.from({ length }, (_, i) => at + step * i));
    if (found.length > 0) yield await sortedRows(walked, found);
  }
}

/** One action after the other, and of each what the other steps say. */
async function* walkActions(
  walked: Walk,
  docs: DocSet,
  { isDescending }: OrderStep,
  rest: readonly OrderStep[],
): AsyncGenerator<readonly Row[]> {
  const { piece, beyond } = walked;
  const terms = await actionsOf(piece);
  const byPlace = docsByValue(docs, terms.length, await placesOfAll(piece));
  const actions = terms.map((term, place) => ({ term, place }));
  actions.sort((a, b) => (a.term < b.term === isDescending ? 1 : -1));
  const from = beyond === undefined ? undefined : termOf(beyond.action);
  for (const { term, place } of actions) {
    const isPassed = from !== undefined && (isDescending ? term > from : term < from);
    const own = byPlace[place]!;
    // All of the others lie beyond the place, whatever their times.
    const within = term === from ? walked : { ...walked, beyond: undefined };
    if (!isPassed && own.count > 0) yield* walk(within, own, rest);
  }
}

async function placesOfAll(piece: Searched): Promise<ArrayLike<number>[]> {
  const blocks = Math.ceil(piece.docs / COLUMN_DOCS);
  return allOf(Array.from({ length: blocks }, (_, block) => piece.valuePlaces('action', block)));
}

function docsByValue(docs: DocSet, values: number, places: readonly ArrayLike<number>[]): DocSet[] {
  const lists = Array.from({ length: values }, (): number[] => []);
  for (const doc of docs.list()) lists[places[Math.floor(doc / COLUMN_DOCS)]![doc % COLUMN_DOCS]!]!.push(doc);
  return lists.map((list) => DocSet.ofList(docs.docs, Uint32Array.from(list)));
}

/**
 * The docs of the set as they stand in an order, either way. `isLast`: no other step decides among those of the same time, so
 * that they are in the order of the log.
 */
async function* walkOrder(
  walked: Walk,
  docs: DocSet,
  { field, isDescending }: OrderStep,
  isLast: boolean,
): AsyncGenerator<readonly Row[]> {
  const order = new PieceOrder(walked.piece, field === 'timestamp' ? 'time' : 'eventId');
  const start = await startOf(walked, order, field, isDescending, isLast);
  let found: number[] = [];
  let portion = WALKED;
  for await (const stretch of stretchesOf(order, start, isDescending)) {
    for (const doc of docs.among(stretch)) {
      if (found.push(doc) < portion) continue;
      const rows = await sortedRows(walked, found);
      // The next ones may be of the same time, and come before these.
      const end = field === 'timestamp' && !isLast ? lastTimeIn(rows) : rows.length;
      yield rows.slice(0, end);
      found = rows.slice(end).map((row) => row.doc);
      portion = 2 * found.length + WALKED;
    }
  }
  if (found.length > 0) yield await sortedRows(walked, found);
}

/** Where the rows begin that have the time of the last one. */
function lastTimeIn(rows: readonly Row[]): number {
  const last = rows.at(-1);
  let begin = rows.length;
  while (begin > 0 && rows[begin - 1]!.atMs === last!.atMs && rows[begin - 1]!.atNs === last!.atNs) begin--;
  return begin;
}

/** The docs of an order, block by block, from a position on. */
async function* stretchesOf(
  order: PieceOrder,
  start: number,
  isDescending: boolean,
): AsyncGenerator<Uint32Array> {
  const blocks = Math.ceil(order.piece.docs / COLUMN_DOCS);
  let block = Math.floor(start / COLUMN_DOCS);
  for (let at = start % COLUMN_DOCS; block >= 0 && block < blocks; block += isDescending ? -1 : 1) {
    const docs = await order.block(block);
    yield isDescending ? docs.subarray(0, at + 1).toReversed() : docs.subarray(at);
    at = isDescending ? COLUMN_DOCS - 1 : 0;
  }
}

/** The first position, in the direction of the walk, that may lie beyond the place. */
async function startOf(
  { piece, beyond }: Walk,
  order: PieceOrder,
  field: OrderStep['field'],
  isDescending: boolean,
  isLast: boolean,
): Promise<number> {
  if (beyond === undefined) return isDescending ? piece.docs - 1 : 0;
  if (field === 'eventId') {
    const id = eventIdTerm(beyond.eventId);
    const first = await order.positionOf(async (doc) => (await eventIdAt(piece, doc)) < id);
    return isDescending ? Math.min(piece.docs - 1, first) : first;
  }
  // Those of the same time are in the order of the log. Where that decides, a page begins behind the last one: thousands may
  // have the same time. Otherwise all of them may lie beyond.
  const tie = isLast ? beyond.index - piece.firstIndex : isDescending ? Infinity : -Infinity;
  const first = await order.positionOf(
    async (doc) =>
      ((await numberAt(piece, 'atMs', doc)) - beyond.atMs ||
        (await numberAt(piece, 'atNs', doc)) - beyond.atNs ||
        doc - tie) < 0,
  );
  return isDescending ? first - 1 : first;
}

async function numberAt(piece: Searched, column: 'atMs' | 'atNs', doc: number): Promise<number> {
  return (await piece.numbers(column, Math.floor(doc / COLUMN_DOCS)))[doc % COLUMN_DOCS]!;
}

/** As far as the order needs them. */
export async function readRows(
  piece: Searched,
  docs: ArrayLike<number>,
  { needsAction, needsEventId }: Pick<RowOrder, 'needsAction' | 'needsEventId'>,
): Promise<Row[]> {
  const blocks = [...new Set(Array.from(docs, (doc) => Math.floor(doc / COLUMN_DOCS)))];
  const actions = needsAction ? await actionsOf(piece) : [];
  const read = new Map(
    await Promise.all(
      blocks.map(async (block) => {
        const [atMs, atNs, action, eventIds] = await Promise.all([
          piece.numbers('atMs', block),
          piece.numbers('atNs', block),
          needsAction ? piece.valuePlaces('action', block) : undefined,
          needsEventId ? piece.eventIds(block) : undefined,
        ]);
        return [block, { atMs, atNs, action, eventIds }] as const;
      }),
    ),
  );
  return Array.from(docs, (doc) => {
    const { atMs, atNs, action, eventIds } = read.get(Math.floor(doc / COLUMN_DOCS))!;
    const at = doc % COLUMN_DOCS;
    return {
      piece,
      doc,
      atMs: atMs[at]!,
      atNs: atNs[at]!,
      action: action === undefined ? '' : actions[action[at]!]!,
      eventId: eventIds === undefined ? '' : eventIdIn(eventIds, doc),
    };
  });
}

/** As byte strings, by the pieces that have them: rows are read some at a time. */
const readActions = new WeakMap<Searched, Promise<readonly string[]>>();

function actionsOf(piece: Searched): Promise<readonly string[]> {
  let actions = readActions.get(piece);
  if (actions === undefined) {
    actions = (async () => (await piece.values('action')).map(({ text }) => termOf(text)))();
    readActions.set(piece, actions);
  }
  return actions;
}
