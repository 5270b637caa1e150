// A page of a stream: its events in order, without a gap for any reader. An event that this reader may not see, that is
// deleted, or that differs from what was accepted, is shown as its bare place. Where the store lacks an entry there is no page.

import { type Answer, AuditError, type InputOf, type StreamEvent } from '@tallystick/contract';
import type { Call } from '../call.ts';
import { type Cursors, isIndex, readPage } from '../paging.ts';
import { isGuarded } from '../policies/sight.ts';
import { pausesBy } from '../runtime/pause.ts';
import type { LogReader, StoredEvent, StoredStream } from '../streams/log.ts';
import { logOf, requireSoundStream, streamOf } from '../streams/stream-operations.ts';
import { type AlteredPlace, reportAltered } from './altered.ts';
import { noteSecretsRead, type ReadNoticeParts } from './secret-read.ts';
import { type Judges, judgesOf, placeOf, type Published, showEvent } from './show.ts';

export interface StreamPageParts extends ReadNoticeParts {
  readonly log: LogReader;
  readonly cursors: Cursors;
  /** How far the log is signed that holds this index of the tenant's sequence. */
  readonly publishedOf: (call: Call, index: number) => Promise<Published>;
}

/** Of stored text: a page of large events has fewer of them, so that no request can exhaust the memory. */
const PAGE_BYTES_MAX = 4 * 1024 * 1024;

type ListInput = InputOf<'streams.listEvents'>;

export function createStreamPage(parts: StreamPageParts) {
  return async (call: Call, input: ListInput): Promise<Answer<'streams.listEvents'>> => {
    const read = readPage(parts.cursors, call, input, isIndex);
    const stream = await streamOf(call, input.streamId, parts.log);
    requireSoundStream(call, stream, parts.telemetry);
    const { begin, end } = boundsOf(stream, input);
    const { rows, isCut } = await rowsOf(call, begin, end, read, parts);
    const page = read.page(rows, ({ index }) => index, Math.max(0, end - begin), isCut);
    // A stream is of one log.
    const published = await parts.publishedOf(call, stream.firstIndex);
    const altered: AlteredPlace[] = [];
    const judges = judgesOf(call);
    const data: StreamEvent[] = [];
    const pause = pausesBy(parts.clock);
    for (const stored of page.data) {
      await pause();
      data.push(shown(call, judges, stored, published, altered));
    }
    const [first, ...others] = altered;
    if (first !== undefined) reportAltered(call, [first, ...others], parts.telemetry);
    const events = data.filter((event) => 'classification' in event);
    await noteSecretsRead(call, events, parts);
    return { kind: 'Done', body: { ...page, data }, isGuarded: events.some(isGuarded) };
  };
}

function boundsOf({ firstIndex, endIndex }: StoredStream, { fromSequence, toSequence }: ListInput) {
  if (fromSequence !== undefined && toSequence !== undefined && fromSequence > toSequence) {
    throw new AuditError(
      'INVALID_PARAMETER',
      `fromSequence ${fromSequence} is after toSequence ${toSequence}.`,
      {
        details: [
          { field: 'fromSequence', issue: 'must not be after toSequence', value: String(fromSequence) },
        ],
      },
    );
  }
  const begin = Math.max(firstIndex, (fromSequence ?? 1) - 1);
  return { begin, end: Math.max(begin, Math.min(endIndex, toSequence ?? endIndex)) };
}

async function rowsOf(
  call: Call,
  begin: number,
  end: number,
  {
    direction,
    beyond,
    rowsMax,
  }: { direction: 'Next' | 'Previous'; beyond: number | undefined; rowsMax: number },
  parts: StreamPageParts,
): Promise<{ readonly rows: StoredEvent[]; readonly isCut: boolean }> {
  const log = logOf(call, parts.log)!;
  const isFromEnd = direction === 'Previous';
  const from = isFromEnd || beyond === undefined ? begin : Math.max(begin, beyond + 1);
  const to = isFromEnd && beyond !== undefined ? Math.min(end, beyond) : end;
  const rows = await log.events(from, to, rowsMax, { bytesMax: PAGE_BYTES_MAX, isFromEnd });
  const rowsThere = Math.max(0, Math.min(rowsMax, to - from));
  const indexAt = (place: number) => (isFromEnd ? to - 1 - place : from + place);
  // Large events leave rows out at the end of a page, never all of them.
  const gapAt =
    rows.length === 0 && rowsThere > 0 ? 0 : rows.findIndex(({ index }, place) => index !== indexAt(place));
  if (gapAt >= 0) throw reportGap(call, indexAt(gapAt), parts);
  return { rows, isCut: rows.length < rowsThere };
}

function reportGap(
  { tenant, correlation: { requestId } }: Call,
  index: number,
  { telemetry }: StreamPageParts,
): Error {
  const error = new Error(`entry ${index} of ${tenant} is missing in the store`);
  telemetry.error('an entry is missing', error, { tenant, index, requestId });
  return error;
}

/** Collects the events that differ from what was hashed. */
function shown(
  { tenant }: Call,
  judges: Judges,
  stored: StoredEvent,
  published: Published,
  altered: AlteredPlace[],
): StreamEvent {
  const view = showEvent(tenant!, stored, judges, published);
  if ('event' in view) return view.event;
  const { sequence, eventId, integrity } = placeOf(stored, published);
  if ('fault' in view) altered.push({ eventId, index: stored.index, fault: view.fault });
  return { sequence, eventId, withheld: view.withheld, integrity };
}
