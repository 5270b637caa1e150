// P11, with proofs: an export that was killed again and again, also while its proofs were written, is the same archive, byte for byte, as one
// that nobody has cut, and it verifies.

import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ExportRequest } from '@tallystick/contract';
import { noteVerifier, verifyExport } from '@tallystick/evidence';
import { unzipped } from '../../packages/server/src/testing/unzipped.ts';
import { BACKENDS, type Backend } from './backends.ts';
import {
  BATCH,
  completed,
  digestOf,
  download,
  kill,
  killMeanwhile,
  logKey,
  requested,
  send,
} from './exporting.ts';
import { type Service, startService, temporaryFolder } from './running.ts';
import { SIZE } from './size.ts';

const EVENTS = SIZE.isLong ? 200_000 : 4000;
const KILLS = SIZE.isLong ? 20 : 2;

const WANTED: readonly ExportRequest[] = [
  // Complete: one range proof.
  { format: 'NDJSON', criteria: { filters: { kinds: ['Event', 'Notice'] } } },
  // Through the index, with a proof for each event.
  { format: 'CSV', criteria: { query: 'odd' }, contentColumns: ['payload.number'] },
];

/** In short, each of them on one backend: they differ in what is read and proven, not in how it survives. */
function wantedOn(name: keyof typeof BACKENDS): readonly ExportRequest[] {
  if (SIZE.isLong) return WANTED;
  return name === 'SQLite' ? WANTED.slice(0, 1) : WANTED.slice(1);
}

async function textsOf(service: Service, exportId: string): Promise<Map<string, string>> {
  return unzipped(Buffer.from(await (await download(service, exportId)).arrayBuffer()));
}

async function requireVerified(service: Service, texts: ReadonlyMap<string, string>): Promise<number> {
  const verifiers = [await noteVerifier(await logKey(service))];
  const archive = {
    names: [...texts.keys()],
    async *entry(name: string) {
      yield Buffer.from(texts.get(name)!);
    },
  };
  return (await verifyExport(archive, { verifiers })).rows;
}

/** It goes on until it is complete. */
async function cut(
  backend: Backend,
  first: Service,
  exportId: string,
): Promise<{ readonly service: Service; readonly kills: number }> {
  let service = first;
  let kills = 0;
  // Half of the work are the proofs.
  for (let i = 0; i < KILLS; i++) {
    if (!(await killMeanwhile(service, exportId, Math.max(1, (100 * i) / KILLS)))) break;
    kills++;
    await backend.endLeases?.();
    service = await startService(backend.start);
    // What comes now does not belong to it.
    await send(service, EVENTS, EVENTS + BATCH);
  }
  assert.ok(kills > 0, 'it was complete before the first kill');
  return { service, kills };
}

for (const [name, open] of Object.entries(BACKENDS) as [keyof typeof BACKENDS, () => Promise<Backend>][])
  test(`on ${name} an export with proofs that was killed again and again is the same archive`, async (t) => {
    await using backend = await open();
    let service = await startService(backend.start);
    try {
      await send(service, 0, EVENTS);
      for (const wanted of wantedOn(name)) {
        const proven = { ...wanted, compression: 'Zip', includeProofs: true } as const;
        // The export waits for a checkpoint over this one, and that is over its request, too: the one and the other begin under the same.
        await send(service, EVENTS - 1, EVENTS);
        const exportId = await requested(service, proven);
        await kill(service);
        await backend.endLeases?.();
        const expected = name === 'SQLite' ? await uncut(backend, exportId) : undefined;
        service = await startService(backend.start);
        const outcome = await cut(backend, service, exportId);
        service = outcome.service;
        const made = await completed(service, exportId);
        const digest = await digestOf(service, made);
        const texts = await textsOf(service, exportId);
        t.diagnostic(
          `${JSON.stringify(wanted)}: ${made.eventCount} events, ${made.fileSize} bytes, ${outcome.kills} kills`,
        );
        assert.equal(await requireVerified(service, texts), made.eventCount);
        if (expected === undefined) continue;
        for (const entry of entriesIn(texts, expected.texts))
          assert.equal(texts.get(entry), expected.texts.get(entry));
        if (checkpointOf(texts) === checkpointOf(expected.texts)) assert.equal(digest, expected.digest);
        else t.diagnostic('one has begun under a newer checkpoint: its proofs are others');
      }
    } finally {
      await kill(service);
    }
  });

/** The same export, made in one go from a copy of the data directory in which it has not begun. */
async function uncut(
  { start }: Backend,
  exportId: string,
): Promise<{ readonly digest: string; readonly texts: Map<string, string> }> {
  using folder = temporaryFolder();
  const dataDirectory = join(folder.path, 'data');
  const files = join(start.dataDirectory, 'exports');
  cpSync(start.dataDirectory, dataDirectory, { recursive: true, filter: (path) => path !== files });
  await using service = await startService({ ...start, dataDirectory });
  const digest = await digestOf(service, await completed(service, exportId));
  return { digest, texts: await textsOf(service, exportId) };
}

function checkpointOf(texts: ReadonlyMap<string, string>): unknown {
  return (JSON.parse(texts.get('manifest.json')!) as { checkpoint: { size: number } }).checkpoint.size;
}

/** What depends on no checkpoint. */
function entriesIn(...all: readonly ReadonlyMap<string, string>[]): string[] {
  const names = all.flatMap((texts) => [...texts.keys()]);
  return [...new Set(names)].filter((name) => name.startsWith('events.') || name === 'verify.html');
}
