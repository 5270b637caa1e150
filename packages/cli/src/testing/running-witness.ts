// A real witness in a process of its own, on a data directory that outlives it, for tests.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { originHash } from '../witness/heads.ts';
import { type Running, type RunOptions, start } from './command.ts';

export interface RunningWitness extends AsyncDisposable {
  readonly process: Running;
  readonly url: string;
  readonly verifierKey: string;
  add(request: string | Uint8Array): Promise<{ status: number; contentType: string | null; body: string }>;
  /** The latest checkpoint that it cosigned, or undefined. */
  checkpoint(origin: string): Promise<string | undefined>;
}

export const WITNESS_NAME = 'witness.example.com/w1';

/** A folder that is gone at the end. */
export function witnessFolder(): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), 'tallystick-witness-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

export async function startWitness(
  data: string,
  args: readonly string[],
  { name = WITNESS_NAME, ...options }: RunOptions & { readonly name?: string } = {},
): Promise<RunningWitness> {
  const running = start(['witness', '--data', data, '--name', name, '--port', '0', ...args], options);
  const [, url = '', verifierKey = ''] = await running.prints(/address {2}(\S+)\n {2}key {6}(\S+)\n/);
  return {
    process: running,
    url,
    verifierKey,
    async add(request) {
      const response = await fetch(`${url}/add-checkpoint`, { method: 'POST', body: request });
      const contentType = response.headers.get('content-type');
      return { status: response.status, contentType, body: await response.text() };
    },
    async checkpoint(origin) {
      const response = await fetch(`${url}/${originHash(origin)}/checkpoint`);
      const text = await response.text();
      return response.status === 200 ? text : undefined;
    },
    [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
  };
}
