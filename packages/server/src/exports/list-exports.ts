// Lists the exports of a tenant. Their records stay for ever, deleted ones too, so a page reads no more of them than it shows.

import type { Answer, InputOf, TenantId } from '@tallystick/contract';
import type { Call } from '../call.ts';
import { type Cursors, isId, newestFirst, readPage, type RowsRequest, rowsIn } from '../paging.ts';
import { lastUlidOf } from '../runtime/ids.ts';
import { type ExportViewParts, jobOf, showExport, shownState } from './export-view.ts';
import type { ExportRecord, ExportState, ShownState } from './export.ts';
import type { Exports } from './exports.ts';

export interface ListExportsParts extends ExportViewParts {
  readonly exports: Pick<Exports, 'pageInState' | 'countInState'>;
  readonly cursors: Cursors;
}

/** What is shown of a record in this state. Of one that is deleted nothing is. */
const SHOWN: Readonly<Record<Exclude<ExportState, 'Deleted'>, readonly ShownState[]>> = {
  Pending: ['Pending', 'Processing'],
  Completed: ['Completed'],
  Failed: ['Failed'],
};
const STATES = Object.keys(SHOWN) as (keyof typeof SHOWN)[];
/** More than may be open at the same time. */
const OPEN_ROWS_MAX = 1000;

interface Asked {
  readonly tenant: TenantId;
  readonly status: readonly ShownState[];
  /** Only those that were requested after it. */
  readonly after: string | undefined;
}

interface Rows {
  readonly rows: readonly ExportRecord[];
  readonly count: number;
}

export async function listExports(
  call: Call,
  input: InputOf<'exports.list'>,
  parts: ListExportsParts,
): Promise<Answer<'exports.list'>> {
  const { tenantId: _, ...wanted } = input;
  const read = readPage(parts.cursors, call, wanted, isId);
  const request = newestFirst(read);
  const { status = STATES.flatMap((state) => SHOWN[state]), createdAfter } = wanted;
  const after = createdAfter === undefined ? undefined : lastUlidOf(Date.parse(createdAfter));
  const asked = { tenant: call.tenant!, status, after };
  const found = await Promise.all(STATES.map((state) => rowsInState(state, asked, request, parts)));
  const merged = found.flatMap(({ rows }) => rows).toSorted((a, b) => (a.exportId < b.exportId ? -1 : 1));
  const rows = rowsIn(merged, ({ exportId }) => exportId, request);
  const count = found.reduce((sum, each) => sum + each.count, 0);
  const { data, pagination } = read.page(rows, ({ exportId }) => exportId, count);
  return {
    kind: 'Done',
    body: { data: await Promise.all(data.map((record) => showExport(call, record, parts))), pagination },
  };
}

async function rowsInState(
  state: keyof typeof SHOWN,
  asked: Asked,
  request: RowsRequest,
  parts: ListExportsParts,
): Promise<Rows> {
  const { tenant, status, after } = asked;
  const { exports } = parts;
  const wanted = SHOWN[state].filter((shown) => status.includes(shown));
  if (wanted.length === 0) return { rows: [], count: 0 };
  if (wanted.length < SHOWN[state].length) return openOnes(wanted, asked, parts);
  const rows = await exports.pageInState(tenant, state, { ...request, after });
  return { rows, count: await exports.countInState(tenant, state, after) };
}

/** Which of the open ones are being made is known to their jobs. */
async function openOnes(
  wanted: readonly ShownState[],
  { tenant, after }: Asked,
  parts: ListExportsParts,
): Promise<Rows> {
  const all = { way: 'Rising', beyond: undefined, limit: OPEN_ROWS_MAX, after } as const;
  const rows: ExportRecord[] = [];
  for (const record of await parts.exports.pageInState(tenant, 'Pending', all))
    if (wanted.includes(shownState(record, await jobOf(record, parts)))) rows.push(record);
  return { rows, count: rows.length };
}
