// Single units of events are deleted while a log goes on, stopped at any point: the store verifies at each, the bundle of it
// verifies and says what was deleted, no earlier proof breaks, and whatever is changed of what is left is found.

import assert from 'node:assert/strict';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import { decodeEntry, KINDS, noteVerifier, tagOf, toBase64, verifyBundle } from '@tallystick/evidence';
import { checkStore } from '../../packages/server/src/check-store.ts';
import { loadConfig } from '../../packages/server/src/config/config.ts';
import { openBundle } from '../../packages/server/src/operate/make-bundle.ts';
import { LOG_ORIGIN, Maker } from './tamper/made-store.ts';
import { SIZE } from './size.ts';

const folder = mkdtempSync(join(tmpdir(), 'tallystick-redaction-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const TENANT = 'acme';
/** Events of `Maker`: the second has a payload of amount and ok, the third a context and a list. */
const REDACTED = [
  { index: 1, paths: ['/payload/amount'] },
  { index: 2, paths: ['/context/ipAddress', '/actor/userId', '/payload'] },
] as const;

async function notice(maker: Maker, { index, paths }: (typeof REDACTED)[number]): Promise<number> {
  const log = maker.storage.log.forTenant(TENANT);
  const [event] = await log.events(index, index + 1, 1);
  const { eventId } = decodeEntry(event!.entry);
  const tags = paths.map((path) => toBase64(tagOf(path).bytes));
  await maker.notice(TENANT, KINDS.redaction, { leafIndex: index, eventId, tags, cause: 'Redaction' });
  const { firstIndex, endIndex } = (await log.streams({ before: undefined }, 1))[0]!;
  assert.ok(endIndex > firstIndex);
  return endIndex - 1;
}

async function faultsOf(directory: string): Promise<string[]> {
  const { faults } = await checkStore(directory, { keys: [], seen: [], isWithoutIndex: true });
  return faults.map(({ reason, index }) => `${reason} ${String(index)}`);
}

async function bundleOf(directory: string) {
  const { config } = loadConfig({
    variables: { Storage__DataDirectory: directory, Log__Origin: LOG_ORIGIN },
    workingDirectory: directory,
  });
  const request = { tenant: TENANT, part: {}, withholdContent: false, waitMs: 0 };
  await using bundle = await openBundle(config, request);
  const verifiers = await Promise.all(bundle.verifierKeys.map(noteVerifier));
  const chunks: Uint8Array[] = [];
  for await (const lines of bundle.lines()) chunks.push(...lines);
  return verifyBundle(chunks, { verifiers, allowWithheld: true });
}

const made = join(folder, 'made');
const notices: number[] = [];

before(async () => {
  await using maker = await openAt(made);
  await maker.events(TENANT, 6);
  await maker.publish();
  for (const each of REDACTED) notices.push(await notice(maker, each));
  await maker.publish();
  await maker.storage.removal.deleteUnits(TENANT, notices);
  await maker.events(TENANT, 2);
  await maker.publish();
});

async function openAt(directory: string): Promise<Maker> {
  mkdirSync(directory, { recursive: true });
  return Maker.open(directory);
}

test('a store verifies wherever a redaction was stopped, and goes on from there', async () => {
  const directory = join(folder, 'stopped');
  let noticed = 0;
  {
    await using maker = await openAt(directory);
    await maker.events(TENANT, 6);
    await maker.publish();
    noticed = await notice(maker, REDACTED[1]);
  }
  assert.deepEqual(await faultsOf(directory), [], 'behind the notice');
  assert.equal((await bundleOf(directory)).deleted, 0, 'the checkpoint does not cover the notice');
  {
    await using maker = await Maker.open(directory);
    await assert.rejects(maker.storage.removal.deleteUnits(TENANT, [noticed]), /no checkpoint/);
    await maker.publish();
  }
  assert.deepEqual(await faultsOf(directory), [], 'behind the checkpoint');
  assert.equal((await bundleOf(directory)).deleted, 1, 'nobody sees it any more');
  {
    await using maker = await Maker.open(directory);
    await maker.storage.removal.deleteUnits(TENANT, [noticed]);
  }
  assert.deepEqual(await faultsOf(directory), [], 'behind the deed');
  assert.equal((await bundleOf(directory)).deleted, 1);
});

test('the bundle of a store with redacted events says so and verifies', async () => {
  assert.deepEqual(await faultsOf(made), []);
  assert.equal((await bundleOf(made)).deleted, 2);
});

const AT = `(SELECT id FROM entries WHERE tenant = 1 AND leaf_index = 2)`;
const TAMPERED: readonly (readonly [title: string, sql: string, expected: RegExp])[] = [
  [
    'the notice of a redaction that is deleted',
    `DELETE FROM contents WHERE id = (SELECT id FROM entries WHERE tenant = 1 AND leaf_index = 6)`,
    /NOTICE_INVALID 6/,
  ],
  ['the row of a redaction that is deleted', 'DELETE FROM redactions WHERE leaf_index = 2', /TRUNCATED 7/],
  ['a redaction that no notice tells of', 'INSERT INTO redactions VALUES (1, 4, 7)', /GAP_UNEXPLAINED 4/],
  [
    'a redaction of another event than its notice says',
    'UPDATE redactions SET leaf_index = 4 WHERE leaf_index = 2',
    /GAP_UNEXPLAINED 4/,
  ],
  [
    'what is deleted that is put under another path',
    `UPDATE contents SET closed = CAST(replace(CAST(closed AS TEXT), '/context/ipAddress', '/context/ipAddresses') AS BLOB) WHERE id = ${AT}`,
    /2$/,
  ],
  ['what is deleted that is forgotten', `UPDATE contents SET closed = NULL WHERE id = ${AT}`, /2$/],
  [
    'a value that is put in the place of a deleted one',
    `UPDATE contents SET text2 = CAST('{"payload":[2,"x"]}' AS BLOB) WHERE id = ${AT}`,
    /2$/,
  ],
  [
    'a value that is left, changed',
    `UPDATE contents SET text1 = CAST(replace(CAST(text1 AS TEXT), 'Read', 'Rexd') AS BLOB) WHERE id = ${AT}`,
    /LEAF_MISMATCH 2/,
  ],
  [
    'salts that are cut off',
    `UPDATE contents SET seeds = substr(seeds, 1, 16) WHERE id = ${AT}`,
    /MALFORMED 2/,
  ],
  [
    'a whole event that says that something of it is deleted',
    `UPDATE contents SET closed = (SELECT closed FROM contents WHERE id = ${AT}) WHERE id = (SELECT id FROM entries WHERE tenant = 1 AND leaf_index = 4)`,
    /4$/,
  ],
];

function tampered(sql: string): string {
  const directory = mkdtempSync(join(folder, 'tampered-'));
  rmSync(directory, { recursive: true });
  copyStore(directory);
  using db = new DatabaseSync(join(directory, 'journal.db'));
  const triggers = db.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").all();
  for (const { name } of triggers) db.exec(`DROP TRIGGER ${String(name)}`);
  db.exec(sql);
  for (const trigger of triggers) db.exec(String(trigger['sql']));
  return directory;
}

function copyStore(directory: string): void {
  using db = new DatabaseSync(join(made, 'journal.db'));
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  cpSync(made, directory, { recursive: true });
  // A copy of a directory has the rights of a new one.
  chmodSync(join(directory, 'signing-keys'), 0o700);
}

for (const [title, sql, expected] of TAMPERED) {
  test(`${title} is found`, async () => {
    const faults = await faultsOf(tampered(sql));
    assert.equal(faults.length, 1, 'there is a fault');
    assert.match(faults[0]!, expected);
  });
}

test('every byte that is changed of what a redaction leaves is found', async () => {
  using db = new DatabaseSync(join(made, 'journal.db'), { readOnly: true });
  const columns = ['text1', 'text2', 'seeds', 'closed'];
  const row = db
    .prepare(
      `SELECT ${columns.map((each) => `length(${each}) AS ${each}`).join(', ')} FROM contents WHERE id = ${AT}`,
    )
    .get()!;
  for (const column of columns) {
    const length = Number(row[column]);
    const step = SIZE.isLong ? 1 : Math.ceil(length / 12);
    for (let at = 1; at <= length; at += step) {
      const byte = `CASE substr(${column}, ${at}, 1) WHEN x'41' THEN x'42' ELSE x'41' END`;
      const changed = `CAST(substr(${column}, 1, ${at - 1}) || ${byte} || substr(${column}, ${at + 1}) AS BLOB)`;
      const directory = tampered(`UPDATE contents SET ${column} = ${changed} WHERE id = ${AT}`);
      const faults = await faultsOf(directory);
      assert.match(faults[0] ?? '', / 2$/, `byte ${at} of ${column}`);
      rmSync(directory, { recursive: true });
    }
  }
});
