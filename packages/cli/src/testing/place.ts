// Folders in which several commands work one after another, with or without the data of a service, for tests.

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Ended, run, serve } from './command.ts';

export interface Place extends Disposable {
  readonly folder: string;
  readonly data: string;
  /** Of every command here. */
  readonly env: Readonly<Record<string, string>>;
  run(args: readonly string[], more?: Readonly<Record<string, string>>): Promise<Ended>;
}

/** No service was ever started here. */
export function emptyPlace(): Place {
  const folder = mkdtempSync(join(tmpdir(), 'tallystick-place-'));
  const data = join(folder, 'data');
  const env = { Storage__DataDirectory: data };
  return {
    folder,
    data,
    env,
    run: (args, more = {}) => run(args, { env: { ...env, ...more } }),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** A service was started here and stopped: there is one key, of the name `FIRST_KEY_NAME`. */
export async function placeWithData(): Promise<Place> {
  firstFiles ??= makeFiles();
  const files = await firstFiles;
  const place = emptyPlace();
  mkdirSync(place.data, { mode: 0o700 });
  mkdirSync(join(place.data, 'signing-keys'), { mode: 0o700 });
  for (const [name, bytes] of files) writeFileSync(join(place.data, name), bytes, { mode: 0o600 });
  return place;
}

export const FIRST_KEY_NAME = 'first start';

/** Made once for all tests of a file: a start takes longer than most of them. */
let firstFiles: Promise<[name: string, bytes: Buffer][]> | undefined;

async function makeFiles(): Promise<[string, Buffer][]> {
  await using service = await serve();
  service.child.kill('SIGTERM');
  await service.ended;
  const data = join(service.folder, 'data');
  const keys = readdirSync(join(data, 'signing-keys')).map((name) => join('signing-keys', name));
  return ['journal.db', 'anchor', ...keys].map((name) => [name, readFileSync(join(data, name))]);
}
