// The service, which ends when a policy or a hold is changed and the file CUT_FILE is there. The file says where: `Before` the change is
// appended, `Behind` its commit and before anybody has learned of it, or before the n-th statement that the commit sends to the
// database. If it comes to no cut, the number of statements is written to the file. For the test of such cuts.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { DatabaseSync, StatementSync } from 'node:sqlite';
import { Client } from 'pg';
import type { Appender } from '../../../packages/server/src/admin/measured-log.ts';
import { serveWith } from './serve-with.ts';
import { sendAtOnce } from '../send-at-once.ts';

const CUT: readonly string[] = ['LegalHold', 'Policy'];
const FILE = process.env['CUT_FILE']!;

/** Statements since the change was appended. */
let sent = 0;
let endAt = Infinity;

function end(): Promise<never> {
  process.kill(process.pid, 'SIGKILL');
  // The signal ends the process before anything else runs.
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
      const isChange = requests.some(({ records = [] }) => records.some(({ kind }) => CUT.includes(kind)));
      if (!isChange || !existsSync(FILE)) return log.append(requests, now, onLocked);
      const where = readFileSync(FILE, 'utf8');
      if (where === 'Before') return end();
      sent = 0;
      endAt = Number(where) || Infinity;
      const results = await log.append(requests, now, onLocked);
      endAt = Infinity;
      if (where === 'Behind') return end();
      writeFileSync(FILE, String(sent));
      return results;
    },
    probe: () => log.probe(),
  };
}

countCalls(DatabaseSync.prototype, 'exec');
countCalls(StatementSync.prototype, 'run', 'get', 'all');
countCalls(Client.prototype, 'query');
sendAtOnce();
await serveWith({ around: cutting, hasThreads: false });
