// Makes the vectors of exports: the files of an archive, unpacked, a folder for each. The service's own formats write the rows, so a
// change of what exports look like shows here.

import { createHash } from 'node:crypto';
import type { AuditEvent, ExportFormat } from '@tallystick/contract';
import {
  canonicalJson,
  closeUnits,
  columnName,
  type ContentPath,
  decodeEntry,
  type EntryLine,
  epochGenesisHash,
  isNotice,
  KINDS,
  MANIFEST_FORMAT,
  MANIFEST_NAME,
  parseJson,
  parseNote,
  showRoots,
  type ShownEvent,
  tagOf,
  toBase64,
  toHex,
  withholdContent,
} from '@tallystick/evidence';
import { sampleEvent, SampleLog, VECTOR_EVENT } from '../packages/evidence/src/testing/sample-log.ts';
import { formatOf } from '../packages/server/src/exports/formats/format.ts';
import { addSinsOfExports } from './sins/against-exports.ts';
import { signedManifest, text } from './samples.ts';

/** The files of an export, by their names. */
export type ExportFiles = ReadonlyMap<string, string>;

const EXPORT_ID = '01KE0000000000000000000009';
const STREAM_ID = '01KE0000000000000000000008';
const PAGE = '<!doctype html>\n<title>In the place of the page that an export has</title>\n';
const NOTE = '/payload/note';
const CONTENT_COLUMNS: readonly ContentPath[] = [
  ['payload', 'amount'],
  ['payload', 'lines', 0, 'qty'],
  ['payload', 'a.b/c~d'],
  ['context', 'ipAddress'],
];

/** What every format has to write so that it comes back. */
const HOSTILE = `'=SUM(A1)\r\n"quoted", <&>]]> \u0001\u001f 😀`;

/** File path under vectors/ → its text. */
export async function makeExports(): Promise<Map<string, string>> {
  const log = exportedLog(await SampleLog.create());
  const valid: [string, ExportFiles][] = [
    ['everything', await everything(log)],
    ['criteria-csv', await matching(log, 'CSV')],
    ['criteria-ndjson', await matching(log, 'NDJSON')],
    ['criteria-xml', await matching(log, 'XML')],
    ['content-columns-csv', await matching(log, 'CSV', undefined, CONTENT_COLUMNS)],
    ['sorted-csv', await matching(log, 'CSV', [{ field: 'timestamp', order: 'desc' }])],
    ['nothing', await nothing(log)],
    ['after-restore', await afterRestore(log)],
  ];
  const files = new Map<string, string>([
    ['exports/log.key', `${log.log.signer.verifierKey}\n`],
    ['exports/after-restore.key', `${(await restoredLog(log)).signer.verifierKey}\n`],
  ]);
  const add = (folder: string, each: ExportFiles): void => {
    for (const [name, content] of each) files.set(`exports/${folder}/${name}`, content);
  };
  for (const [name, each] of valid) add(`valid/${name}`, each);
  for (const [i, each] of (await chain(log)).entries()) add(`chain/${i + 1}`, each);
  for (const [sin, each] of await addSinsOfExports(new Map(valid), log.log)) add(`invalid/${sin}`, each);
  return files;
}

interface Exported {
  readonly log: SampleLog;
  /** As a reader sees them. */
  readonly rows: readonly (AuditEvent | undefined)[];
  readonly lines: readonly EntryLine[];
}

/** Events whole, withheld in every way, and one of which a value was deleted under the notice behind them. */
function exportedLog(log: SampleLog): Exported {
  const events: Record<string, unknown>[] = [0, 1, 2, 3, 4, 5].map((n) => ({
    ...sampleEvent(n),
    timestamp: `2026-01-02T03:04:0${n}.678Z`,
  }));
  Object.assign(events[4]!, {
    actor: { actorType: 'User', userId: 'u-4', userName: HOSTILE },
    payload: { [HOSTILE]: HOSTILE, amount: 6, 'a.b/c~d': {}, empty: '' },
  });
  for (const event of events) log.append(event);
  const deleted = [toBase64(tagOf(NOTE).bytes)];
  const { eventId } = decodeEntry(log.entries[1]!.entry);
  const notice = { ...NOTICE, payload: { leafIndex: 1, eventId, tags: deleted, cause: 'Redaction' } };
  log.append(notice, KINDS.redaction);

  const shownOf = (index: number, change: (shown: ShownEvent) => ShownEvent = (shown) => shown) => {
    const { entry, shown } = log.entries[index]!;
    return { entry, shown: change(shown) };
  };
  const withoutNote = (shown: ShownEvent) => closeUnits(shown, (path) => path === NOTE);
  const lines: EntryLine[] = [
    shownOf(0),
    { ...shownOf(1, withoutNote), deleted },
    shownOf(2, withholdContent),
    shownOf(3, withoutNote),
    shownOf(4),
    shownOf(5, showRoots),
    shownOf(6),
  ];
  const { note: _, ...kept } = events[1]!['payload'] as Record<string, unknown>;
  const above = { fields: ['payload', 'context'], reason: 'ClassificationAboveClearance' };
  const inPart = { ...(events[3]!['payload'] as object), note: '[REDACTED]' };
  const rows = [
    rowOf(log, 0, events[0]!),
    rowOf(log, 1, { ...events[1], payload: kept, redaction: redacted('RedactedAtRest') }),
    rowOf(log, 2, { ...events[2], context: {}, payload: {}, redaction: above }),
    rowOf(log, 3, { ...events[3], payload: inPart, redaction: redacted('AccessPolicy') }),
    rowOf(log, 4, events[4]!),
    undefined,
    rowOf(log, 6, notice),
  ];
  return { log, rows, lines };
}

const NOTICE = {
  timestamp: '2026-01-02T03:05:00.000Z',
  correlationId: VECTOR_EVENT.correlationId,
  actor: { actorType: 'System' },
  action: 'Redact.Event',
  resource: { resourceType: 'Log', resourceId: 'acme' },
  classification: 'Internal',
  outcome: 'Success',
};

function redacted(reason: string) {
  return { fields: ['payload.note'], reason };
}

function rowOf(log: SampleLog, index: number, seen: Record<string, unknown>, firstIndex = 0): AuditEvent {
  const { entry, leaf } = log.entries[index]!;
  const { kind, eventId, receivedAtMs, previous } = decodeEntry(entry);
  // The service writes the content as it is stored, which is RFC 8785 text.
  const { context, payload, redaction, ...facts } = parseJson(canonicalJson(seen)) as Record<string, unknown>;
  const integrity = {
    streamId: STREAM_ID,
    leafIndex: index,
    leafHash: toHex(leaf),
    previousHash: toHex(previous),
    status: 'Checkpointed',
  };
  return {
    eventId,
    tenantId: 'acme',
    kind: isNotice(kind) ? 'Notice' : 'Event',
    sequence: firstIndex + index + 1,
    receivedAt: new Date(receivedAtMs).toISOString(),
    ...facts,
    ...(context !== undefined && { context }),
    ...(payload !== undefined && { payload }),
    ...(redaction !== undefined && { redaction }),
    integrity,
  } as unknown as AuditEvent;
}

/** Nothing is left out: of the event that is withheld as a whole there is a line, and no row. */
async function everything({ log, rows, lines }: Exported): Promise<ExportFiles> {
  const criteria = { filters: { kinds: ['Event', 'Notice'] } };
  return filesOf({
    log,
    criteria,
    format: 'JSON',
    rows: rows.filter((row) => row !== undefined),
    bundle: text(await log.bundle({ lines })),
    range: { firstIndex: 0, from: 0, to: log.size, complete: true },
    withheld: { Clearance: 1, Purged: 0 },
    page: PAGE,
  });
}

async function matching(
  exported: Exported,
  format: ExportFormat,
  sort?: object[],
  contentColumns?: readonly ContentPath[],
): Promise<ExportFiles> {
  const { log, rows } = exported;
  const criteria = { filters: { actions: ['Create.*', 'Delete.*'] }, ...(sort && { sort }) };
  const places = [0, 1, 3, 4];
  const lines = places.map((index) => {
    const { deleted: _, ...line } = exported.lines[index]!;
    return log.provenLine(index, line);
  });
  const found = places.map((index) => rows[index]!);
  return filesOf({
    log,
    criteria,
    format,
    rows: sort === undefined ? found : found.toReversed(),
    bundle: text(await log.bundle({ complete: false, filter: criteria, lines })),
    range: { firstIndex: 0, from: 0, to: log.size, complete: false },
    ...(contentColumns && { contentColumns }),
  });
}

async function nothing({ log }: Exported): Promise<ExportFiles> {
  const criteria = { query: 'action:Nothing.Done' };
  return filesOf({
    log,
    criteria,
    format: 'CSV',
    rows: [],
    bundle: text(await log.bundle({ complete: false, filter: criteria, lines: [] })),
    range: { firstIndex: 0, from: 0, to: log.size, complete: false },
  });
}

const CHAINED = [0, 3, 5, 7];
const SCHEDULE_ID = '01KE0000000000000000000007';

/** The files of a schedule: each goes on where the one before it ends, and names its manifest. */
async function chain({ log, rows, lines }: Exported): Promise<ExportFiles[]> {
  const files: ExportFiles[] = [];
  for (const [i, to] of CHAINED.slice(1).entries()) {
    const from = CHAINED[i]!;
    const before = files.at(-1)?.get(MANIFEST_NAME);
    const previous = before === undefined ? null : createHash('sha256').update(before).digest('hex');
    const own = rows.slice(from, to).filter((row) => row !== undefined);
    // The notice of what was deleted in the first one came later.
    const notices = from === 0 ? [6] : [];
    files.push(
      await filesOf({
        log,
        criteria: { filters: { kinds: ['Event', 'Notice'] } },
        format: 'NDJSON',
        rows: own,
        bundle: text(await log.bundle({ from, to, lines: lines.slice(from, to), notices })),
        range: { firstIndex: 0, from, to, complete: true },
        withheld: { Clearance: to - from - own.length, Purged: 0 },
        schedule: { scheduleId: SCHEDULE_ID, number: i + 1, previous },
      }),
    );
  }
  return files;
}

const RESTORED = 5;

/** Goes on after the fifth entry of the log before it. */
async function restoredLog({ log: before }: Exported): Promise<SampleLog> {
  const previousCheckpoint = parseNote(await before.checkpoint()).text;
  const log = await SampleLog.create('audit.example.com/t/acme/1', (origin) =>
    epochGenesisHash(origin, previousCheckpoint),
  );
  log.notice(KINDS.newEpoch, {
    previousOrigin: before.origin,
    anchoredSize: before.size,
    anchoredRoot: previousCheckpoint.split('\n')[2]!,
    restoredSize: RESTORED,
  });
  log.append(sampleEvent(1));
  return log;
}

/** Rows of the log before a restore stand in the data, and have no line. */
async function afterRestore(exported: Exported): Promise<ExportFiles> {
  const log = await restoredLog(exported);
  const range = { firstIndex: RESTORED, from: 1, to: 2, complete: false };
  const rows = [...exported.rows.slice(0, RESTORED), rowOf(log, 1, sampleEvent(1), RESTORED)];
  return filesOf({
    log,
    criteria: {},
    format: 'NDJSON',
    rows: rows.filter((row) => row !== undefined),
    bundle: text(await log.bundle({ from: 1, complete: false, filter: {}, lines: [log.provenLine(1)] })),
    range,
    withheld: { Clearance: 0, Purged: 0 },
  });
}

interface Parts {
  readonly log: SampleLog;
  readonly criteria: object;
  readonly format: ExportFormat;
  readonly rows: readonly AuditEvent[];
  readonly bundle: string;
  readonly range: object;
  readonly withheld?: object;
  readonly page?: string;
  readonly schedule?: object;
  readonly contentColumns?: readonly ContentPath[];
}

async function filesOf(parts: Parts): Promise<ExportFiles> {
  const { log, criteria, format, rows, bundle, range, withheld, page, schedule, contentColumns = [] } = parts;
  const { begin, between, end, write, extension, columns } = formatOf(format, contentColumns);
  const data = begin + rows.map(write).join(between) + end;
  const files = new Map([
    [`events.${extension}`, data],
    ['evidence.jsonl', bundle],
    ...(page === undefined ? [] : [['verify.html', page] as const]),
  ]);
  const [, size, root] = parseNote(await log.checkpoint()).text.split('\n');
  const proven = bundle.split('\n').filter((line) => line.startsWith('{"e":')).length;
  const manifest = {
    format: MANIFEST_FORMAT,
    exportId: EXPORT_ID,
    requestedAt: '2026-01-03T00:00:00.000Z',
    tenantId: 'acme',
    origin: log.origin,
    criteria,
    dataFormat: format,
    ...(columns !== undefined && { columns }),
    ...(contentColumns.length > 0 && {
      contentColumns: Object.fromEntries(contentColumns.map((path) => [columnName(path), path])),
    }),
    counts: { exported: rows.length, proven, ...(withheld !== undefined && { withheld }) },
    entries: [...files].map(([name, content]) => ({
      name,
      size: Buffer.byteLength(content),
      sha256: createHash('sha256').update(content).digest('hex'),
    })),
    range,
    ...(schedule && { schedule }),
    checkpoint: { size: Number(size), root },
  };
  return files.set(MANIFEST_NAME, await signedManifest(manifest, log.signer));
}
