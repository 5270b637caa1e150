// The service, which ends behind one of the commits of an erasure if the file CUT_FILE is there. The file says behind which: 0 is that
// of the request, before anybody is answered; those that follow are counted, in any database, and so is each signed head in the
// anchor and each change of the keyring. `Before`: the request is not appended. While nothing is cut, CUT_FILE.count says how many there
// were. For the test of such cuts.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import files from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { DatabaseSync, StatementSync } from 'node:sqlite';
import { Client } from 'pg';
import type { Appender } from '../../../packages/server/src/admin/measured-log.ts';
import { serveWith } from './serve-with.ts';
import { sendAtOnce } from '../send-at-once.ts';

const FILE = process.env['CUT_FILE']!;
const REQUEST = '"action":"Request.Erasure"';
/** Other tables tell of nodes and of time, at any moment. */
const TABLES =
  /\b(?:INSERT|REPLACE|UPDATE|DELETE)\b[^;]*\b(?:entries|contents|records|tenants|tenant_keys|(?:used|recent)_keys|checkpoints|jobs|outbox|violations|windows|manifests|blocks|index_manifests|index_blocks)\b/i;

/** Commits since that of the request; undefined before it. */
let commits: number | undefined;
let endBehind = Infinity;

function end(): Promise<never> {
  process.kill(process.pid, 'SIGKILL');
  // The signal ends the process before anything else runs.
  return new Promise(() => {});
}

function committed(): void {
  if (commits === undefined) return;
  commits += 1;
  if (commits === endBehind) void end();
  if (existsSync(FILE)) writeFileSync(`${FILE}.count`, String(commits));
}

function cutting(log: Appender): Appender {
  return {
    async append(requests, now, onLocked) {
      const isRequest = requests.some(({ drafts }) =>
        drafts.some(({ texts }) => Buffer.from(texts[0]).includes(REQUEST)),
      );
      if (!isRequest || !existsSync(FILE)) return log.append(requests, now, onLocked);
      const where = readFileSync(FILE, 'utf8');
      if (where === 'Before') return end();
      const results = await log.append(requests, now, onLocked);
      commits = 0;
      endBehind = Number(where);
      return endBehind === 0 ? end() : results;
    },
    probe: () => log.probe(),
  };
}

type Method = (this: object, ...args: unknown[]) => unknown;

/** Calls `behind` with the result of each call, once it is there. */
function watch(
  prototype: object,
  name: string,
  behind: (self: object, args: unknown[], made: unknown) => void,
) {
  const methods = prototype as Record<string, Method>;
  const real = methods[name]!;
  methods[name] = function (...args) {
    const made = real.apply(this, args);
    if (!(made instanceof Promise)) behind(this, args, made);
    else
      return made.then((value: unknown) => {
        behind(this, args, value);
        return value;
      });
    return made;
  };
}

/** Databases and connections with a transaction that has changed something. */
const changed = new WeakSet<object>();

function ran(connection: object, text: string, isInTransaction: boolean): void {
  if (/^COMMIT\b/.test(text)) {
    if (changed.delete(connection)) committed();
  } else if (TABLES.test(text)) {
    if (isInTransaction) changed.add(connection);
    else committed();
  }
}

const databases = new WeakMap<object, [database: DatabaseSync, text: string]>();
watch(DatabaseSync.prototype, 'prepare', (database, [text], statement) => {
  databases.set(statement as object, [database as DatabaseSync, String(text)]);
});
watch(DatabaseSync.prototype, 'exec', (database, [text]) =>
  ran(database, String(text), (database as DatabaseSync).isTransaction),
);
for (const name of ['run', 'get', 'all'])
  watch(StatementSync.prototype, name, (statement) => {
    const [database, text] = databases.get(statement) ?? [];
    if (database !== undefined) ran(database, text!, database.isTransaction);
  });
watch(Client.prototype, 'query', (client, [asked]) => {
  const text = typeof asked === 'string' ? asked : (asked as { readonly text?: string } | undefined)?.text;
  if (text !== undefined) ran(client, text, true);
});
watch(files, 'rename', () => committed());
const handle = await files.open(process.execPath);
watch(Object.getPrototypeOf(handle) as object, 'datasync', () => committed());
watch(Object.getPrototypeOf(handle) as object, 'sync', () => committed());
await handle.close();
syncBuiltinESMExports();
sendAtOnce();
await serveWith({ around: cutting, hasThreads: false });
