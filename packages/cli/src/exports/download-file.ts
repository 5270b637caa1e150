// Downloads the file of an export. What a break has left is gone on from, and a file is put in its place only when its SHA-256 is the
// one that the service has told.

import { createHash } from 'node:crypto';
import { createReadStream, existsSync, renameSync, rmSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Export } from '@tallystick/contract';
import { EvidenceError } from '@tallystick/evidence';
import type { ServiceAccess } from '../address-options.ts';
import { NoAnswer } from '../fetch-bytes.ts';
import { requireNewFile } from '../new-file.ts';
import { startProgress } from '../output/progress.ts';
import { exportPath } from './served-exports.ts';

/** Breaks in a row, without a byte between them. */
const BREAKS_MAX = 5;
const STALLED_MS = 60_000;
const PAUSE_MS = 1000;

export async function downloadFile(service: ServiceAccess, made: Export, file: string): Promise<void> {
  const { fileSize, checksum } = made;
  if (fileSize === undefined || checksum === undefined)
    throw new NoAnswer(`the export ${made.exportId} has no file for you: its status is ${made.status}`);
  requireNewFile(file, 'name another by --out');
  // Of this file alone: what another export has left is not gone on from.
  const part = `${file}.${checksum.slice(-12)}.part`;
  using progress = startProgress(`downloading ${file}`, 'bytes', { total: fileSize });
  const { systemClock, wait } = await import('@tallystick/server');
  let breaks = 0;
  for (let size = sizeOf(part); size < fileSize || !existsSync(part); size = sizeOf(part)) {
    progress.show(size, fileSize);
    try {
      await fetchFrom(service, made, part, size, (bytes) => progress.add(bytes));
      breaks = 0;
    } catch (error) {
      if (!(error instanceof NoAnswer) || error.status !== undefined) throw error;
      breaks = sizeOf(part) > size ? 0 : breaks + 1;
      if (breaks === BREAKS_MAX) throw error;
      await wait(systemClock, PAUSE_MS);
    }
  }
  if (`sha256:${await digestOf(part)}` !== checksum) {
    rmSync(part);
    throw new EvidenceError('CHECKSUM_MISMATCH', `what was downloaded is not the file of ${made.exportId}`);
  }
  renameSync(part, file);
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** Appends what comes. */
async function fetchFrom(
  { address, version, tenant, apiKey }: ServiceAccess,
  { exportId, checksum = '' }: Export,
  part: string,
  from: number,
  add: (bytes: number) => void,
): Promise<void> {
  const url = `${address}/api/${version}/${exportPath(exportId)}/download`;
  const stop = new AbortController();
  const { systemClock } = await import('@tallystick/server');
  const stalled = () => systemClock.after(STALLED_MS, () => stop.abort());
  let timer = stalled();
  try {
    const response = await fetch(url, {
      redirect: 'manual',
      signal: stop.signal,
      headers: {
        'x-tenant-id': tenant,
        ...(apiKey !== undefined && { 'x-api-key': apiKey }),
        ...(from > 0 && { range: `bytes=${from}-`, 'if-range': `"${checksum.replace('sha256:', '')}"` }),
      },
    });
    if (response.status !== (from > 0 ? 206 : 200) || response.body === null)
      throw new NoAnswer(`${url} answered ${response.status}`, response.status);
    await using file = await open(part, 'a', 0o600);
    for await (const chunk of response.body) {
      timer.cancel();
      timer = stalled();
      await file.write(chunk as Uint8Array);
      add((chunk as Uint8Array).length);
    }
    await file.sync();
  } catch (error) {
    if (error instanceof NoAnswer) throw error;
    if (error instanceof Error && 'syscall' in error && error.syscall === 'write') throw error;
    throw new NoAnswer(`the download from ${url} broke: ${String(error)}`);
  } finally {
    timer.cancel();
  }
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk as Uint8Array);
  return hash.digest('hex');
}
