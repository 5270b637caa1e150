// The database ends a connection right after it is made, when only the pool listens to it.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'node:test';
import { ALL_TENANTS, Database, statement } from './database.ts';

function message(type: string, ...parts: readonly (string | Buffer)[]): Buffer {
  const body = Buffer.concat(parts.map((part) => Buffer.from(part)));
  const head = Buffer.from(`${type}0000`);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

const WELCOME_AND_END = Buffer.concat([
  message('R', Buffer.alloc(4)),
  message('Z', 'I'),
  message('E', 'SFATAL\0', 'C57P01\0', 'Mterminating connection due to administrator command\0', '\0'),
]);

test('a connection that ends at once fails its statement, and nothing else', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.end(WELCOME_AND_END));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await using database = new Database({ url: `postgres://it@127.0.0.1:${port}/it`, connectionsMax: 1 });
  await assert.rejects(database.read(ALL_TENANTS, statement('SELECT 1')));
  server.close();
});
