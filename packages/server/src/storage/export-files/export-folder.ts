// The folder with the files of exports. Of each export there is at most a file that is being made with its checkpoint, or one that is
// complete. A run of the job that makes it writes a file of its own: one that goes on after a crash copies what was there, so that
// whoever wakes up late writes into a file that nobody reads any more.
//
//   <exportId>.<runId>.part      being made
//   <exportId>.checkpoint        how far it has come, and in which of them
//   <exportId>.<runId>.export    complete
//   <name>.node                  of a node: node-mark-files.ts

import { access, constants, mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ExportId } from '@tallystick/contract';
import { parseJson } from '@tallystick/evidence';
import type { Checkpoint, ExportFiles, FilePlace, FileWriter } from '../../exports/export-files.ts';
import type { Random } from '../../runtime/random.ts';
import { codeOf, replaceFile, syncFolder } from '../files/whole-file.ts';
import { readSealed, SealedFileWriter } from './sealed-file.ts';

const NAME =
  /^([0-7][0-9A-HJKMNP-TV-Z]{25})\.(?:(?:[0-7][0-9A-HJKMNP-TV-Z]{25}\.)?(?:part|export)|checkpoint)$/;

export class ExportFolder implements ExportFiles {
  readonly #path: string;
  readonly #random: Pick<Random, 'bytes'>;

  constructor(path: string, random: Pick<Random, 'bytes'>) {
    this.#path = path;
    this.#random = random;
  }

  async tryOut(): Promise<void> {
    // Before the first export there is no folder, and to look must not make one.
    const folder = (await isThere(this.#path)) ? this.#path : dirname(this.#path);
    await access(folder, constants.W_OK);
  }

  async create({ exportId, ...place }: FilePlace): Promise<FileWriter> {
    await this.#open();
    return SealedFileWriter.create({ ...place, path: this.#part(exportId, place.runId) }, this.#random);
  }

  readPart({ exportId, ...place }: FilePlace, end: number): AsyncIterable<Uint8Array> {
    return readSealed({ ...place, path: this.#part(exportId, place.runId) }, 0, end);
  }

  has({ exportId, runId }: Pick<FilePlace, 'exportId' | 'runId'>): Promise<boolean> {
    return isThere(this.#complete(exportId, runId));
  }

  read({ exportId, ...place }: FilePlace, from: number, end: number): AsyncIterable<Uint8Array> {
    return readSealed({ ...place, path: this.#complete(exportId, place.runId) }, from, end);
  }

  async checkpoint(exportId: ExportId, jobId: string): Promise<Checkpoint | undefined> {
    const text = await readFile(this.#checkpoint(exportId), 'utf8').catch((error: unknown) => {
      if (codeOf(error) === 'ENOENT') return undefined;
      throw error;
    });
    if (text === undefined) return undefined;
    const read = parseJson(text) as Checkpoint;
    return read.jobId === jobId ? read : undefined;
  }

  async save(exportId: ExportId, checkpoint: Checkpoint): Promise<void> {
    await replaceFile(this.#checkpoint(exportId), JSON.stringify(checkpoint));
  }

  async finish(exportId: ExportId, runId: string): Promise<void> {
    await rename(this.#part(exportId, runId), this.#complete(exportId, runId));
    await rm(this.#checkpoint(exportId), { force: true });
    await syncFolder(this.#path);
  }

  async clean(exportId: ExportId, keptRunId?: string): Promise<void> {
    const kept = keptRunId === undefined ? [] : [`${exportId}.${keptRunId}.`, `${exportId}.checkpoint`];
    for (const name of await this.#names()) {
      if (!name.startsWith(`${exportId}.`) || kept.some((each) => name.startsWith(each))) continue;
      await rm(join(this.#path, name), { force: true, recursive: true });
    }
  }

  async exportIds(): Promise<ExportId[]> {
    const names = await this.#names();
    return [...new Set(names.flatMap((name) => NAME.exec(name)?.[1] ?? []))];
  }

  async #open(): Promise<void> {
    await mkdir(this.#path, { recursive: true, mode: 0o700 });
  }

  #part(exportId: ExportId, runId: string): string {
    return join(this.#path, `${exportId}.${runId}.part`);
  }

  #complete(exportId: ExportId, runId: string): string {
    return join(this.#path, `${exportId}.${runId}.export`);
  }

  #checkpoint(exportId: ExportId): string {
    return join(this.#path, `${exportId}.checkpoint`);
  }

  async #names(): Promise<string[]> {
    try {
      return await readdir(this.#path);
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return [];
      throw error;
    }
  }
}

async function isThere(path: string): Promise<boolean> {
  try {
    await access(path, constants.F_OK);
    return true;
  } catch {
    return false;
  }
}
