// The database reads the encoded values correctly.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import * as fc from 'fast-check';
import { Client } from 'pg';
import { type Databases, openDatabases } from '../../../testing/postgres-server.ts';
import { bigints, byteas, integers, smallints, texts } from './binary-arrays.ts';

let server: Databases;
let client: Client;
before(async () => {
  server = await openDatabases();
  client = new Client({ connectionString: server.url() });
  await client.connect();
});
after(async () => {
  await client?.end();
  await server?.[Symbol.asyncDispose]();
});

async function read(type: string, bytes: Uint8Array): Promise<unknown> {
  const { rows } = await client.query<{ json: unknown }>(
    `SELECT coalesce(json_agg(value), '[]') AS json FROM unnest($1::${type}[]) AS value`,
    [Buffer.from(bytes)],
  );
  return rows[0]?.json;
}

test('numbers of every size', async () => {
  for (const values of [[], [0], [-1, 1, 32_767, -32_768]])
    assert.deepEqual(await read('smallint', smallints(values)), values);
  const whole = [0, -1, 2 ** 31 - 1, -(2 ** 31)];
  assert.deepEqual(await read('integer', integers(whole)), whole);
  const large = [null, ...whole, 2 ** 32, 2 ** 53 - 1, -(2 ** 53) + 1, -(2 ** 32), null];
  assert.deepEqual(await read('bigint', bigints(large)), large);
});

test('texts of any letters and any length, and none', async () => {
  const letters = fc.string({ unit: 'grapheme', maxLength: 200 }).filter((text) => !text.includes('\0'));
  const values = fc.array(fc.option(letters), { maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(values, async (list) => assert.deepEqual(await read('text', texts(list)), list)),
    { numRuns: 50 },
  );
  const long = ['x'.repeat(100_000), '字'.repeat(50_000), ''];
  assert.deepEqual(await read('text', texts(long)), long);
});

test('bytes, and none', async () => {
  const list = [Uint8Array.of(0, 255, 92), null, new Uint8Array(10_000), new Uint8Array()];
  const hex = list.map((each) => each && `\\x${Buffer.from(each).toString('hex')}`);
  assert.deepEqual(await read('bytea', byteas(list)), hex);
});
