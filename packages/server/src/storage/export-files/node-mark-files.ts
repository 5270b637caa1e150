// The marks of nodes among the files of exports: <name>.node

import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { NodeMarks } from '../../exports/shared-folder.ts';
import { codeOf, replaceFile } from '../files/whole-file.ts';

const NAME = /^([A-Za-z0-9][A-Za-z0-9._-]{0,63})\.node$/;

export class NodeMarkFiles implements NodeMarks {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async leave(node: string, text: string): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await replaceFile(this.#path(node), text);
  }

  async read(): Promise<ReadonlyMap<string, string>> {
    const marks = new Map<string, string>();
    for (const name of await readdir(this.#folder)) {
      const node = NAME.exec(name)?.[1];
      if (node === undefined) continue;
      const text = await readFile(this.#path(node), 'utf8').catch(onlyIfGone);
      if (text !== undefined) marks.set(node, text);
    }
    return marks;
  }

  async remove(node: string): Promise<void> {
    await rm(this.#path(node), { force: true });
  }

  #path(node: string): string {
    return join(this.#folder, `${node}.node`);
  }
}

/** Another node may remove it. */
function onlyIfGone(error: unknown): undefined {
  if (codeOf(error) !== 'ENOENT') throw error;
}
