// P11: the file of an export is the snapshot, and the same bytes as that of an export that nobody has cut, wherever the service was killed
// meanwhile, and whatever was sent meanwhile.

import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Export, ExportRequest } from '@tallystick/contract';
import { BACKENDS, type Backend } from './backends.ts';
import { BATCH, completed, digestOf, killMeanwhile, requested, send } from './exporting.ts';
import { type Service, startService } from './running.ts';
import { SIZE } from './size.ts';

const EVENTS = SIZE.isLong ? 1_000_000 : 6000;
/** In short, once in its beginning and once behind that on the embedded store, and once on PostgreSQL. */
const killsOn = (name: string) => (SIZE.isLong ? 20 : name === 'SQLite' ? 2 : 1);

const WANTED: readonly ExportRequest[] = [
  { format: 'JSON', compression: 'Zip' },
  ...(SIZE.isLong
    ? [
        { format: 'CSV', compression: 'Gzip' } as const,
        { format: 'XML', criteria: { query: 'odd' } } as const,
      ]
    : []),
  // Through the index.
  { format: 'NDJSON', criteria: { query: 'odd' } },
];

async function cutExport(
  backend: Backend,
  first: Service,
  wanted: ExportRequest,
  killsMax: number,
): Promise<{ readonly service: Service; readonly made: Export; readonly kills: number }> {
  let service = first;
  const exportId = await requested(service, wanted);
  let kills = 0;
  for (let i = 0; i < killsMax; i++) {
    if (!(await killMeanwhile(service, exportId, (100 * i) / (killsMax + 1)))) break;
    kills++;
    await backend.endLeases?.();
    service = await startService(backend.start);
    // What comes now does not belong to it.
    await send(service, EVENTS, EVENTS + BATCH);
  }
  assert.ok(kills > 0, 'it was complete before the first kill');
  return { service, made: await completed(service, exportId), kills };
}

for (const [name, open] of Object.entries(BACKENDS) as [string, () => Promise<Backend>][])
  test(`on ${name} an export that was killed again and again is the same file`, async (t) => {
    await using backend = await open();
    let service = await startService(backend.start);
    try {
      await send(service, 0, EVENTS);
      for (const wanted of SIZE.isLong || name === 'SQLite' ? WANTED : WANTED.slice(1)) {
        const whole = await completed(service, await requested(service, wanted));
        const expected = await digestOf(service, whole);
        const again = { ...wanted, criteria: { ...wanted.criteria } };
        const cut = await cutExport(backend, service, again, killsOn(name));
        service = cut.service;
        t.diagnostic(
          `${JSON.stringify(wanted)}: ${whole.eventCount} events, ${whole.fileSize} bytes, ${cut.kills} kills`,
        );
        assert.equal(cut.made.eventCount, whole.eventCount);
        assert.equal(await digestOf(service, cut.made), expected);
      }
      const left = readdirSync(join(backend.start.dataDirectory, 'exports'));
      assert.deepEqual(
        left.filter((file) => !/\.(export|node)$/.test(file)),
        [],
      );
    } finally {
      service.kill('SIGKILL');
      await service.ended;
    }
  });
