// The service, which ends when it purges and the file CUT_FILE is there. The file says where: `Before` the notice is appended,
// `Behind` its commit, or before the n-th statement that is sent to the database from then on: those that sign, delete, mark,
// make the index again and give space back. For the test of such cuts.

import { existsSync, readFileSync } from 'node:fs';
import { DatabaseSync, StatementSync } from 'node:sqlite';
import { Client } from 'pg';
import { KINDS } from '@tallystick/evidence';
import type { Appender } from '../../../packages/server/src/admin/measured-log.ts';
import { serveWith } from './serve-with.ts';
import { sendAtOnce } from '../send-at-once.ts';

const FILE = process.env['CUT_FILE']!;

let sent = 0;
let endAt = Infinity;

function end(): Promise<never> {
  process.kill(process.pid, 'SIGKILL');
  return new Promise(() => {});
}

type Method = (this: unknown, ...args: unknown[]) => unknown;

function countCalls(prototype: object, ...names: readonly string[]): void {
  const methods = prototype as Record<string, Method>;
  for (const name of names) {
    const real = methods[name]!;
    methods[name] = function (...args) {
      if (++sent === endAt) void end();
      return real.apply(this, args);
    };
  }
}

function cutting(log: Appender): Appender {
  return {
    async append(requests, now, onLocked) {
      const isPurge = requests.some(({ drafts }) => drafts.some(({ kind }) => kind === KINDS.purge));
      if (!isPurge || !existsSync(FILE)) return log.append(requests, now, onLocked);
      const where = readFileSync(FILE, 'utf8');
      if (where === 'Before') return end();
      sent = 0;
      endAt = Number(where) || Infinity;
      const results = await log.append(requests, now, onLocked);
      return where === 'Behind' ? end() : results;
    },
    probe: () => log.probe(),
  };
}

countCalls(DatabaseSync.prototype, 'exec');
countCalls(StatementSync.prototype, 'run', 'get', 'all');
countCalls(Client.prototype, 'query');
sendAtOnce();
await serveWith({ around: cutting, hasThreads: false });
