// Reads back events that are about to lose their content: each content is held against its entry, unless nobody asks for texts, and the
// entry against the newest signed checkpoint. No expiry is judged here.

import { isNotice, readLink } from '@tallystick/evidence';
import type {
  ContentsPortion,
  ContentsRequest,
  ProvenContent,
  UnprovenEntry,
} from '../../streams/removal/proven.ts';
import type { IndexSpan } from '../../streams/removal/removal.ts';
import { type Awaitable, awaited, type Resumable } from '../resumable.ts';
import { classificationAt, CLASSIFICATIONS } from '../rows/classification-column.ts';
import type { LogIdentity } from '../rows/log-identity.ts';
import type { Checks } from './checks.ts';
import { EntryWalk, type SoundEntry, WalkResources } from './entries.ts';
import type { LogRow, RowOutline } from './log-row.ts';
import { trustedOf } from './notes.ts';
import { lotEnd, unproven, unprovenEntries } from './proven.ts';
import type { RangeStore } from './range.ts';
import { type SignedHead, signedHead } from './signed-head.ts';
import { fault } from './store-fault.ts';

/** Each entry alone: that it stands where it was signed is proven by the tree, without the entries beside it. */
export const OF_EACH: Checks = new Set(['leaves', 'values', 'classification']);

const NO_LEAF = new Uint8Array(0);
const NO_TEXTS = [new Uint8Array(0), new Uint8Array(0)] as const;

/** Lots of one portion, which ends with the first lot behind so many bytes of texts: the answer goes to another thread. */
const LOTS_AT_ONCE = 4;
const LOTS_AT_ONCE_WITHOUT_TEXTS = 32;
const BYTES_ENOUGH = 1_000_000;

/** The first lots of the spans; `resources` check what OF_EACH says. */
export function* provenContents<Log extends LogIdentity<unknown>>(
  store: RangeStore<Log>,
  { spans, publicKeys, isWithoutTexts = false }: ContentsRequest,
  resources: WalkResources,
): Resumable<ContentsPortion> {
  const begin = spans[0]!.firstIndex;
  const log = yield* awaited(store.log(begin));
  if (log === undefined) throw new Error(`there is no entry ${begin}`);
  const head = yield* signedHead(store, log, trustedOf({ publicKeys }));
  const lotsMax = isWithoutTexts ? LOTS_AT_ONCE_WITHOUT_TEXTS : LOTS_AT_ONCE;
  const [contents, failed]: [ProvenContent[], UnprovenEntry[]] = [[], []];
  let [left, nextIndex, bytes] = [spans, begin, 0];
  for (let lots = 0; lots < lotsMax && left.length > 0 && bytes < BYTES_ENOUGH; lots++) {
    const signed = { log, head };
    const lot = isWithoutTexts
      ? yield* provenLot(store, signed, left, resources, outlining(store, log))
      : yield* provenLot(store, signed, left, resources, reading(store, log, resources));
    for (const each of lot.contents) bytes += each.texts[0].length + each.texts[1].length;
    contents.push(...lot.contents);
    failed.push(...lot.unproven);
    nextIndex = lot.nextIndex;
    left = behind(left, nextIndex);
  }
  return { contents, unproven: failed, nextIndex };
}

function behind(spans: readonly IndexSpan[], index: number): IndexSpan[] {
  return spans
    .filter(({ endIndex }) => endIndex > index)
    .map(({ firstIndex, endIndex }) => ({ firstIndex: Math.max(firstIndex, index), endIndex }));
}

/** How much of a row is read, and what is believed of it once its entry is proven. */
interface Way<Row> {
  readonly rows: (first: number, last: number) => Awaitable<readonly Row[]>;
  /** Of consecutive rows that have content. */
  readonly contentsOf: (rows: readonly Row[]) => (ProvenContent | UnprovenEntry)[];
}

function reading<Log extends LogIdentity<unknown>>(
  store: RangeStore<Log>,
  log: Log,
  resources: WalkResources,
): Way<LogRow> {
  return {
    rows: (first, last) => store.rows(log, first, last),
    contentsOf: (rows) => contentsOf(store, log, rows, resources),
  };
}

function outlining<Log extends LogIdentity<unknown>>(store: RangeStore<Log>, log: Log): Way<RowOutline> {
  return {
    rows: (first, last) => store.outlines(log, first, last),
    contentsOf: (rows) => rows.map(outlineIn),
  };
}

function* provenLot<Log extends LogIdentity<unknown>, Row extends RowOutline | LogRow>(
  store: RangeStore<Log>,
  signed: { readonly log: Log; readonly head: SignedHead },
  spans: readonly IndexSpan[],
  resources: WalkResources,
  way: Way<Row>,
): Resumable<ContentsPortion> {
  const { log, head } = signed;
  const begin = spans[0]!.firstIndex;
  const end = endOfLot(spans, log, head);
  if (end <= begin) throw new Error(`entry ${begin} of ${log.origin} is not signed yet`);
  const read = yield* awaited(way.rows(begin, end - 1));
  const rows = read.slice(0, consecutive(read, begin));
  if (rows.length === 0) {
    const gap = unproven(begin, fault('TRUNCATED', 'the entry is missing'));
    return { contents: [], unproven: [gap], nextIndex: read[0]?.sequenceIndex ?? end };
  }
  const entries = rows.map(({ entry }) => entry);
  const altered = yield* unprovenEntries(store, resources, signed, begin, entries);
  const alteredAt = new Set(altered.map(({ index }) => index));
  const inLot = spans.filter(({ firstIndex }) => firstIndex < end);
  const wanted = rows.filter(
    ({ sequenceIndex, content }) =>
      content !== undefined && !alteredAt.has(sequenceIndex) && isIn(inLot, sequenceIndex),
  );
  const judged = runsOf(wanted).flatMap((run) => way.contentsOf(run));
  return {
    contents: judged.filter((each): each is ProvenContent => 'texts' in each),
    unproven: [
      ...altered.filter(({ index }) => isIn(inLot, index)),
      ...judged.filter((each): each is UnprovenEntry => 'reason' in each),
    ],
    nextIndex: begin + rows.length,
  };
}

function endOfLot(spans: readonly IndexSpan[], log: LogIdentity<unknown>, { size }: SignedHead): number {
  const lot = Math.min(lotEnd(log, spans[0]!.firstIndex), log.firstIndex + size);
  const last = spans.findLast(({ firstIndex }) => firstIndex < lot);
  return Math.min(lot, last?.endIndex ?? lot);
}

function consecutive(rows: readonly Pick<LogRow, 'sequenceIndex'>[], begin: number): number {
  const gap = rows.findIndex(({ sequenceIndex }, i) => sequenceIndex !== begin + i);
  return gap < 0 ? rows.length : gap;
}

function isIn(spans: readonly IndexSpan[], index: number): boolean {
  return spans.some(({ firstIndex, endIndex }) => firstIndex <= index && index < endIndex);
}

function runsOf<Row extends Pick<LogRow, 'sequenceIndex'>>(rows: readonly Row[]): Row[][] {
  const runs: Row[][] = [];
  for (const row of rows) {
    const last = runs.at(-1);
    if (last?.at(-1)?.sequenceIndex === row.sequenceIndex - 1) last.push(row);
    else runs.push([row]);
  }
  return runs;
}

/** Of consecutive rows: all at once, and one by one where one of them is at fault. */
function contentsOf<Log extends LogIdentity<unknown>>(
  store: RangeStore<Log>,
  log: Log,
  rows: readonly LogRow[],
  resources: WalkResources,
): (ProvenContent | UnprovenEntry)[] {
  const { firstIndex } = log;
  const first = rows[0]!.sequenceIndex;
  const walk = new EntryWalk(resources, { firstIndex, nextIndex: first - firstIndex, previous: NO_LEAF });
  const found: SoundEntry[] = [];
  try {
    walk.take(rows, (sound) => found.push(sound));
    return found.map((sound, i) => contentIn(rows[i]!, sound));
  } catch (error) {
    const own = store.faultOf(error);
    if (rows.length === 1) return [unproven(first, own)];
    return rows.flatMap((row) => contentsOf(store, log, [row], resources));
  }
}

function contentIn(
  { sequenceIndex: index, classification, content }: LogRow,
  { receivedAtMs, notice }: SoundEntry,
): ProvenContent | UnprovenEntry {
  if (notice !== undefined) return unproven(index, NOTICE);
  const { text1, text2, closed, expiresAtMs } = content!;
  return {
    index,
    receivedAtMs,
    classification: classificationAt(classification),
    texts: [text1, text2],
    isWhole: closed === undefined,
    expiresAtMs,
  };
}

function outlineIn({
  sequenceIndex: index,
  classification,
  entry,
  content,
}: RowOutline): ProvenContent | UnprovenEntry {
  const { kind, receivedAtMs } = readLink(entry, 0);
  if (isNotice(kind)) return unproven(index, NOTICE);
  const named = CLASSIFICATIONS[classification];
  if (named === undefined) return unproven(index, NO_CLASSIFICATION);
  return { index, receivedAtMs, classification: named, texts: NO_TEXTS, ...content! };
}

const NO_CLASSIFICATION = fault('MALFORMED', 'has a classification that there is not');
const NOTICE = fault('LEAF_MISMATCH', 'is a notice, which never expires');
