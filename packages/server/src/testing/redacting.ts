// A service with a platform key, and callers of its tenant acme, for tests of what removes values.

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { AuditEvent, Erasure, ErrorBody, SearchAnswer } from '@tallystick/contract';
import { callerOf, PLATFORM_KEY, WITH_PLATFORM_KEY } from './admin-caller.ts';
import { ask as askOf, type Told } from './ask.ts';
import { WORK_FILE } from '../storage/sqlite/work/work-database.ts';
import { EVENT } from './bound-operations.ts';
import { startTestApp } from './test-app.ts';

/** The answer to any request is one of these; a test knows which. */
export type AnyBody = Omit<Required<AuditEvent>, 'kind'> &
  Omit<Required<Erasure>, 'status'> &
  Required<SearchAnswer> &
  ErrorBody & {
    readonly kind: string;
    readonly status: string;
    readonly fields: string[];
    readonly operationId: string;
    readonly data: AuditEvent[];
    readonly pagination: { readonly total: number };
  };
export type AnyTold = Told<AnyBody>;
export type Ask = (
  method: string,
  path: string,
  body?: object,
  headers?: Record<string, string>,
) => Promise<AnyTold>;

export async function startRedacting(
  t: { after: (done: () => Promise<void>) => void },
  overrides?: Parameters<typeof startTestApp>[1],
  settings: Readonly<Record<string, string>> = {},
) {
  const app = await startTestApp({ ...WITH_PLATFORM_KEY, ...settings }, overrides);
  t.after(async () => app[Symbol.asyncDispose]());
  const as =
    (key: string): Ask =>
    (method, path, body, headers) =>
      askOf(app, method, `/api/v1${path}`, {
        key,
        tenant: 'acme',
        ...(body && { body }),
        ...(headers && { headers }),
      });
  const ask = as(PLATFORM_KEY);
  const sent = async (more: object = {}): Promise<string> => {
    const told = await ask('POST', '/audit-events', {
      ...EVENT,
      payload: { iban: 'DE1', amount: 1 },
      ...more,
    });
    if (told.status !== 201) throw new Error(`an event was answered ${told.text}`);
    return (told.body as { eventId: string }).eventId;
  };
  return { app, ask, sent, secondCaller: async () => as((await callerOf(app, 'acme')).key) };
}

/** The files of a data directory that hold a text, or some bytes. */
export function filesWith(directory: string, text: string | Buffer): string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((name) => {
    const path = join(directory, name);
    return statSync(path).isFile() && readFileSync(path).includes(text);
  });
}

/** Erasures that wait for holds look again now, instead of in a minute: all, or one. */
export function lookAgainNow(directory: string, erasureId = '%'): void {
  using db = new DatabaseSync(join(directory, WORK_FILE), { timeout: 5000 });
  db.prepare("UPDATE jobs SET wake_ms = 0 WHERE kind = 'Erasure' AND job_id LIKE ?").run(erasureId);
}

/** What the jobs of an erasure know, of which there is one at most. */
export function jobBodies(directory: string, erasureId: string): string[] {
  using db = new DatabaseSync(join(directory, WORK_FILE), { timeout: 5000 });
  const rows = db.prepare('SELECT body FROM jobs WHERE job_id = ?').all(erasureId);
  return rows.map(({ body }) => body as string);
}

/** As one does who can write to the file. */
export function alterJob(directory: string, erasureId: string, body: string): void {
  using db = new DatabaseSync(join(directory, WORK_FILE), { timeout: 5000 });
  db.prepare('UPDATE jobs SET body = ? WHERE job_id = ?').run(body, erasureId);
}
