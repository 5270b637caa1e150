// W9: an export of a million events in each format, and beside it the same rows read through the driver alone; BENCH_EVENTS sets how
// many. Nobody else asks anything meanwhile. Every event that is exported is held against its hash; the driver checks nothing.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';
import { SCHEMA } from '../packages/server/src/storage/postgres/connection/database.ts';
import { type Backend, type OpenBackend, POSTGRES, SQLITE } from './backends.ts';
import { cpuSecondsOf, isIdleWithin } from './cpu.ts';
import type { Benchmark, Row } from './measure.ts';
import { ADMIN_KEY, fill, type RunningService, startService } from './processes/processes.ts';

const EVENTS = Number(process.env['BENCH_EVENTS'] ?? 1_000_000);
const TENANT = 'exported';
const IDLE_MS_MAX = 60_000 + EVENTS * 1.2;
const EXPORT_MS_MAX = 600_000;
const LOOK_PAUSE_MS = 100;
const MEMORY_PAUSE_MS = 20;
const FORMATS = [
  { format: 'NDJSON' },
  { format: 'CSV' },
  { format: 'JSON' },
  { format: 'XML' },
  { format: 'NDJSON', compression: 'Zip' },
] as const;
/** What an export reads of each event. */
const COLUMNS = 'entry, leaf, root1, root2, text1, text2, seeds';
const PAGE = 1000;

export const benchmark = exportsOn(SQLITE);
export const onPostgres = exportsOn(POSTGRES);

function exportsOn(backend: Backend): Benchmark {
  return {
    name: `exports${backend.suffix}`,
    title: `W9 on ${backend.name}: ${EVENTS} events exported`,
    run: () => measureExports(backend),
  };
}

async function measureExports(backend: Backend): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tallystick-bench-'));
  try {
    await using opened = await backend.open();
    await fillStore(folder, opened.settings);
    await using service = await startService(folder, [], opened.settings);
    await isIdleWithin(service.pid, IDLE_MS_MAX);
    const rows: Row[] = [];
    for (const asked of FORMATS) {
      const read = await rowsPerSecond(folder, opened);
      rows.push(...(await measureOne(service, asked, read)));
    }
    return rows;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function fillStore(folder: string, settings: Readonly<Record<string, string>>): Promise<void> {
  await using service = await startService(folder, [], settings);
  await fill({ port: service.port, apiKey: ADMIN_KEY, tenant: TENANT, events: EVENTS });
  await isIdleWithin(service.pid, IDLE_MS_MAX);
}

async function measureOne(
  { port, pid }: RunningService,
  asked: (typeof FORMATS)[number],
  readPerSecond: number,
): Promise<Row[]> {
  const idleMb = ownMemoryMb(pid);
  let peakMb = idleMb;
  const watch = setInterval(() => (peakMb = Math.max(peakMb, ownMemoryMb(pid))), MEMORY_PAUSE_MS);
  const cpuBefore = cpuSecondsOf(pid) ?? Number.NaN;
  const startedAt = performance.now();
  const { exportId } = await ask<{ exportId: string }>(port, '/exports', asked);
  await completed(port, exportId);
  clearInterval(watch);
  const seconds = (performance.now() - startedAt) / 1000;
  const cpu = (cpuSecondsOf(pid) ?? Number.NaN) - cpuBefore;
  const name = Object.values(asked).join(', ');
  return [
    {
      name,
      figure: `${Math.round(EVENTS / seconds)}/s`,
      against: `rows read by the driver (${Math.round(readPerSecond)}/s)`,
      ratio: EVENTS / seconds / readPerSecond,
      goal: '>= 0.40',
    },
    {
      name: `${name}: processor time of the service`,
      figure: `${((1e6 * cpu) / EVENTS).toFixed(0)} µs an event`,
    },
    {
      name: `${name}: peak of memory above the idle service`,
      figure: `${peakMb - idleMb} MB`,
      goal: '<= 64 MB',
    },
  ];
}

async function completed(port: number, exportId: string): Promise<void> {
  const deadline = performance.now() + EXPORT_MS_MAX;
  for (;;) {
    const { status, eventCount } = await ask<{ status: string; eventCount?: number }>(
      port,
      `/exports/${exportId}`,
    );
    if (status === 'Completed' && (eventCount ?? 0) >= EVENTS) return;
    if (status === 'Completed' || status === 'Failed')
      throw new Error(`the export is ${status}, of ${eventCount} events`);
    if (performance.now() > deadline) throw new Error(`the export is ${status} after ${EXPORT_MS_MAX} ms`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_PAUSE_MS));
  }
}

/** Reads page by page, as the export does, so that neither holds all of them. */
async function rowsPerSecond(folder: string, { postgres }: OpenBackend): Promise<number> {
  const startedAt = performance.now();
  const count = postgres === undefined ? countInFile(folder) : await countInDatabase(postgres.url);
  if (count < EVENTS) throw new Error(`the driver has read ${count} rows`);
  return (count * 1000) / (performance.now() - startedAt);
}

function countInFile(folder: string): number {
  using db = new DatabaseSync(join(folder, 'journal.db'), { readOnly: true });
  const select = db.prepare(
    `SELECT ${COLUMNS} FROM entries JOIN contents USING (id)
     WHERE tenant = (SELECT tenant FROM tenants WHERE tenant_id = ?) AND leaf_index >= ? ORDER BY leaf_index LIMIT ${PAGE}`,
  );
  for (let count = 0; ; ) {
    const found = select.all(TENANT, count).length;
    count += found;
    if (found < PAGE) return count;
  }
}

async function countInDatabase(url: string): Promise<number> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(`SET search_path = ${SCHEMA}`);
    const text = `SELECT ${COLUMNS} FROM entries JOIN contents USING (tenant_id, leaf_index, content_month)
      WHERE tenant_id = $1 AND leaf_index >= $2 ORDER BY leaf_index LIMIT ${PAGE}`;
    for (let count = 0; ; ) {
      const { rows } = await client.query({ name: 'page', text, values: [TENANT, count] });
      count += rows.length;
      if (rows.length < PAGE) return count;
    }
  } finally {
    await client.end();
  }
}

async function ask<T>(port: number, path: string, body?: object): Promise<T> {
  const answer = await fetch(`http://127.0.0.1:${port}/api/v1${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { 'X-API-Key': ADMIN_KEY, 'X-Tenant-Id': TENANT, 'Content-Type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  if (!answer.ok) throw new Error(`${path} was answered by ${answer.status}: ${await answer.text()}`);
  return (await answer.json()) as T;
}

/** Without files that are mapped, which the system takes back when it needs room. */
function ownMemoryMb(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Math.round(Number(/RssAnon:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024);
}
