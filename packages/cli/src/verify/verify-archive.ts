// `tallystick verify` with the archive of an export: data, bundle and manifest, each against the others.

import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { type Trust, verifyExport, type WitnessPolicy, ZipArchive } from '@tallystick/evidence';
import { startProgress } from '../output/progress.ts';
import { ArchiveFile } from './archive-file.ts';
import { ZIP_BEGIN } from './evidence-input.ts';
import { hostHashing } from './host-hashing.ts';
import { requireQuorum } from './policy-option.ts';
import { type Report, reportExport } from './verify-report.ts';

/** By its first bytes; a pipe is none, since an archive is read from its end. */
export function isArchive(file: string): boolean {
  if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) return false;
  const opened = openSync(file, 'r');
  try {
    const head = Buffer.alloc(ZIP_BEGIN.length);
    return readSync(opened, head, 0, head.length, 0) === head.length && head.toString('latin1') === ZIP_BEGIN;
  } finally {
    closeSync(opened);
  }
}

export async function verifyArchive(
  file: string,
  { trust, policy }: { readonly trust: Trust; readonly policy: WitnessPolicy | undefined },
): Promise<Report> {
  await using opened = await ArchiveFile.open(file);
  const archive = await ZipArchive.open(opened);
  using progress = startProgress(`verifying ${file}`, 'bytes');
  const entry = async function* (name: string) {
    for await (const chunk of archive.entry(name)) {
      progress.add(chunk.length);
      yield chunk;
    }
  };
  const hashing = { ...hostHashing(), running: () => createHash('sha256') };
  const verdict = await verifyExport({ names: archive.names, entry }, trust, hashing);
  requireQuorum(verdict.checkpoint.cosignedBy, policy);
  return reportExport(file, verdict);
}
