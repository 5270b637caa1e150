// Makes the store that the drill is about: the real service takes six payments in the morning and six in the
// afternoon, and is stopped. An auditor fetches the log's public key and its checkpoint in the evening, and keeps them.

import { ok as assert } from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Trail {
  /** The data directory of the service. */
  readonly store: string;
  /** A copy of it from noon, as a backup would be. */
  readonly noon: string;
  readonly auditor: AuditorsCopy;
}

/** What the auditor took away, as files and as texts. */
export interface AuditorsCopy {
  readonly keyFile: string;
  readonly key: string;
  readonly checkpointFile: string;
  readonly checkpoint: string;
}

export const TENANT = 'acme';
/** So many each half of the day; a second tenant is there to show that its log stays sound. */
const PAYMENTS = 6;

const LAUNCHER = join(import.meta.dirname, '../../packages/cli/bin/tallystick.js');
const API_KEY = 'the-admin-key-of-the-tamper-drill';

export async function makeTrail(folder: string): Promise<Trail> {
  const store = join(folder, 'store');
  const noon = join(folder, 'store-at-noon');
  await duringService(folder, store, async (address) => {
    for (let n = 1; n <= PAYMENTS; n++) await pay(address, TENANT, n);
    await pay(address, 'globex', 1);
  });
  cpSync(store, noon, { recursive: true });
  const auditor = await duringService(folder, store, async (address) => {
    for (let n = PAYMENTS + 1; n <= 2 * PAYMENTS; n++) await pay(address, TENANT, n);
    return visitOfTheAuditor(address, folder);
  });
  return { store, noon, auditor };
}

async function visitOfTheAuditor(address: string, folder: string): Promise<AuditorsCopy> {
  const log = `${address}/api/v1/log/t/${TENANT}`;
  const [key, checkpoint] = await Promise.all([ask(`${log}/key`), ask(`${log}/checkpoint`)]);
  const [keyFile, checkpointFile] = [join(folder, 'auditors.key'), join(folder, 'auditors-checkpoint')];
  writeFileSync(keyFile, key);
  writeFileSync(checkpointFile, checkpoint);
  return { keyFile, key: key.trim(), checkpointFile, checkpoint };
}

/** Sends a payment, and asks for its proof: that answer comes when a checkpoint covers it. */
async function pay(address: string, tenant: string, n: number): Promise<void> {
  const sent = await ask(`${address}/api/v1/audit-events`, tenant, {
    timestamp: `2026-01-02T${String(8 + n).padStart(2, '0')}:00:00Z`,
    actor: { actorType: 'User', userId: 'ana' },
    action: 'Pay.Invoice',
    resource: { resourceType: 'Invoice', resourceId: `INV-${n}` },
    payload: { amount: 100 * n, note: `payment ${n}` },
  });
  const { eventId } = JSON.parse(sent) as { eventId: string };
  if (n % PAYMENTS === 0) await ask(`${address}/api/v1/audit-events/${eventId}/proof`, tenant);
}

async function ask(url: string, tenant = TENANT, body?: object): Promise<string> {
  const headers = { 'X-API-Key': API_KEY, 'X-Tenant-Id': tenant, 'Content-Type': 'application/json' };
  const request = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
  const response = await fetch(url, { headers, ...request });
  const text = await response.text();
  assert(response.ok, `${url} answers ${response.status}: ${text}`);
  return text;
}

/** Runs `tallystick serve` on the store for as long as the work takes. */
async function duringService<T>(
  folder: string,
  store: string,
  work: (address: string) => Promise<T>,
): Promise<T> {
  const env = {
    PATH: process.env['PATH'],
    Server__Port: '0',
    Storage__DataDirectory: store,
    TALLYSTICK_ADMIN_KEY: API_KEY,
    Log__Origin: 'audit.example.com',
    // So that a drill at midnight finds the same numbers.
    Streams__SealAfter: 'P36500D',
  };
  const service = spawn(process.execPath, ['--conditions=source', LAUNCHER, 'serve'], { cwd: folder, env });
  try {
    return await work(await addressOf(service));
  } finally {
    const ended = once(service, 'close');
    service.kill('SIGTERM');
    await ended;
  }
}

function addressOf(service: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = '';
    const listen = (chunk: Buffer): void => {
      said += chunk.toString();
      const address = /address\s+(http:\S+)\n/.exec(said)?.[1];
      if (address !== undefined) resolve(address);
    };
    service.stdout?.on('data', listen);
    service.stderr?.on('data', listen);
    service.once('close', (code) => reject(new Error(`the service ended with ${code}:\n${said}`)));
  });
}
