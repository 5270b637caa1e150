// A service that kills itself at the statement about jobs that the file CUT_FILE names, once there is one: before the statement, before its
// commit, or behind its commit. For tests of deliveries that are cut off.

import { existsSync, readFileSync } from 'node:fs';
import { DatabaseSync, StatementSync } from 'node:sqlite';
import { Client } from 'pg';
import { serveWith } from './serve-with.ts';
import { sendAtOnce } from '../send-at-once.ts';

/** A part of a statement, and one of its values, or of the values in a JSON list that it gets. */
interface Cut {
  readonly statement: string;
  readonly value: string;
  readonly where: 'Before' | 'AtCommit' | 'Behind';
}

const FILE = process.env['CUT_FILE']!;
/** The connection that has sent the statement. */
let met: unknown;
let where: Cut['where'] | undefined;

function end(): void {
  process.kill(process.pid, 'SIGKILL');
}

function look(connection: unknown, statement: string, values: readonly unknown[]): void {
  if (where !== undefined || !existsSync(FILE)) return;
  const cut = JSON.parse(readFileSync(FILE, 'utf8')) as Cut;
  const isNamed = (value: unknown) =>
    value === cut.value ||
    (typeof value === 'string' && value.startsWith('[') && value.includes(`"${cut.value}"`));
  if (!statement.replaceAll(/\s+/g, ' ').includes(cut.statement) || !values.some(isNamed)) return;
  met = connection;
  where = cut.where;
  if (where === 'Before') end();
}

type Method = (this: unknown, ...args: unknown[]) => unknown;

function around(prototype: object, name: string, method: (real: Method) => Method): void {
  const methods = prototype as Record<string, Method>;
  methods[name] = method(methods[name]!);
}

const WORK = 'work.db';
for (const name of ['run', 'get', 'all'])
  around(
    StatementSync.prototype,
    name,
    (real) =>
      function (...values) {
        look(WORK, (this as StatementSync).sourceSQL, values);
        return real.apply(this, values);
      },
  );
around(
  DatabaseSync.prototype,
  'exec',
  (real) =>
    function (text) {
      const isCommit = text === 'COMMIT' && met === WORK && (this as DatabaseSync).location()?.endsWith(WORK);
      if (isCommit && where === 'AtCommit') end();
      real.call(this, text);
      if (isCommit) end();
      return undefined;
    },
);
around(
  Client.prototype,
  'query',
  (real) =>
    function (...args) {
      const [query, values = []] = args as [string | { text: string; values?: unknown[] }, unknown[]?];
      const text = typeof query === 'string' ? query : query.text;
      look(this, text, typeof query === 'string' ? values : (query.values ?? values));
      const isCommit = text === 'COMMIT' && met === this;
      if (isCommit && where === 'AtCommit') end();
      const answered = real.apply(this, args);
      return isCommit ? (answered as Promise<unknown>).finally(end) : answered;
    },
);
sendAtOnce();
await serveWith({ hasThreads: false });
