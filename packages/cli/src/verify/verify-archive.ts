// `tallystick verify` with the archive of an export, or with the folder into which somebody has unpacked it: data, bundle and manifest,
// each against the others.

import { createHash } from 'node:crypto';
import { closeSync, createReadStream, existsSync, openSync, readdirSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import {
  EvidenceError,
  type ExportArchive,
  type ExportVerdict,
  MANIFEST_NAME,
  type Trust,
  verifyExport,
  type WitnessPolicy,
  ZipArchive,
} from '@tallystick/evidence';
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

/** A folder with the files of an export: no data directory has a manifest. */
export function isUnpacked(folder: string): boolean {
  return existsSync(join(folder, MANIFEST_NAME));
}

interface Trusting {
  readonly trust: Trust;
  readonly policy: WitnessPolicy | undefined;
}

export async function verifyArchive(file: string, trusting: Trusting): Promise<Report> {
  await using archive = await openExport(file);
  return reportExport(file, await verdictOn(file, archive, trusting));
}

export async function verdictOn(
  file: string,
  archive: ExportArchive,
  { trust, policy }: Trusting,
): Promise<ExportVerdict> {
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
  return verdict;
}

type Opened = ExportArchive & AsyncDisposable;

export async function openExport(path: string): Promise<Opened> {
  return isUnpacked(path) ? unpacked(path) : await packed(path);
}

async function packed(path: string): Promise<Opened> {
  const file = await ArchiveFile.open(path);
  try {
    const archive = await ZipArchive.open(file);
    return {
      names: archive.names,
      entry: (name) => archive.entry(name),
      [Symbol.asyncDispose]: () => file[Symbol.asyncDispose](),
    };
  } catch (error) {
    await file[Symbol.asyncDispose]();
    throw error;
  }
}

const CHUNK_BYTES = 262_144;

/** Without hidden files, which file managers leave in each folder that somebody opens. */
function unpacked(folder: string): Opened {
  const names = readdirSync(folder).filter((name) => !name.startsWith('.'));
  return {
    names,
    entry(name) {
      if (!names.includes(name))
        throw new EvidenceError('MALFORMED', `${folder} has no ${name.slice(0, 80)}`);
      return createReadStream(join(folder, name), { highWaterMark: CHUNK_BYTES });
    },
    async [Symbol.asyncDispose]() {},
  };
}
