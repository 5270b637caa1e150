// Nodes on a real PostgreSQL, for tests: each has the log and the tree, and signs with a key that is made for the occasion.

import assert from 'node:assert/strict';
import { generateKeyPairSync, sign } from 'node:crypto';
import { Client } from 'pg';
import {
  CompactRange,
  formatCheckpoint,
  keyIdOf,
  leafHash,
  SIGNATURE_TYPES,
  signatureLine,
} from '@tallystick/evidence';
import { draftOf, now, NOW_MS, request, STREAMS } from '../storage/conformance/claims.ts';
import { Database, SCHEMA } from '../storage/postgres/connection/database.ts';
import { createTree } from '../storage/postgres/tree/tree.ts';
import type { StreamLimits } from '../streams/log.ts';
import type { Growth, TreeHead, TreeReader, TreeWriter } from '../streams/tree.ts';
import { createMigrated } from './migrated-database.ts';
import { type LogNode, raw, startLogNode } from './postgres-nodes.ts';
import { openDatabases, PATIENT_LIMITS } from './postgres-server.ts';

const ORIGIN = 'audit.example.com';
/** Those that are written; the others follow from them. */
export const ENTRY_COLUMNS =
  'tenant_id, leaf_index, classification, content_month, entry, leaf, root1, root2';
const { privateKey, publicKey } = generateKeyPairSync('ed25519');
export const PUBLIC_KEY = Uint8Array.from(Buffer.from(publicKey.export({ format: 'jwk' }).x!, 'base64url'));

export interface Node extends LogNode {
  readonly tree: TreeWriter & TreeReader;
}

export interface Installation {
  readonly start: (streams?: Partial<StreamLimits>) => Node;
  /** As the owner of the tables can, past all rights. */
  readonly raw: (sql: string, values?: readonly unknown[]) => Promise<Record<string, unknown>[]>;
  readonly connect: () => Promise<Client>;
}

export interface Installations extends AsyncDisposable {
  readonly install: (...tenants: string[]) => Promise<Installation>;
}

/** Makes a server with a database that all installations are copies of. */
export async function startInstallations(): Promise<Installations> {
  const server = await openDatabases();
  return {
    install: async (...tenants) => installIn(await createMigrated(server), tenants),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

async function installIn(url: string, tenants: readonly string[]): Promise<Installation> {
  await raw(url, 'INSERT INTO heads (tenant_id) SELECT unnest($1::text[])', [tenants]);
  return {
    start: (streams) => startNode(url, { ...STREAMS, ...streams }),
    raw: (sql, values = []) => raw(url, sql, [...values]),
    async connect() {
      const client = new Client({ connectionString: url, options: `-c search_path=${SCHEMA}` });
      await client.connect();
      return client;
    },
  };
}

function startNode(url: string, streams: StreamLimits): Node {
  const logNode = startLogNode(url, streams);
  const database = new Database({ url, connectionsMax: 4, ...PATIENT_LIMITS });
  return {
    log: logNode.log,
    tree: createTree(database, ORIGIN),
    async [Symbol.asyncDispose]() {
      await logNode[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
    },
  };
}

export async function fill({ log }: Node, tenant: string, count: number): Promise<void> {
  const drafts = Array.from({ length: count }, () => draftOf({ classification: 'Internal' }));
  const [result] = await log.append([request(tenant, drafts)], now());
  assert.equal(result?.status, 'Done');
}

function noteOf(head: TreeHead): string {
  const text = formatCheckpoint(head);
  const keyId = keyIdOf({ name: head.origin, type: SIGNATURE_TYPES.note, publicKey: PUBLIC_KEY });
  const signature = Uint8Array.from(sign(null, Buffer.from(text), privateKey));
  return `${text}\n${signatureLine({ name: head.origin, keyId, signature })}`;
}

export const publishedOf = ({ grown }: Growth) =>
  grown.map(({ tenant, epoch, heads, tileHashes }) => ({
    tenant,
    epoch,
    checkpoints: heads.map((head) => ({ size: head.size, note: noteOf(head) })),
    tileHashes,
  }));

export const sizesOf = ({ grown }: Growth) =>
  grown.map(({ tenant, heads }) => [tenant, ...heads.map(({ size }) => size)]);

export async function publish({ tree }: Node): Promise<unknown[]> {
  const growth = await tree.readGrowth();
  await tree.publish(publishedOf(growth), NOW_MS);
  return sizesOf(growth);
}

export async function rootAt({ raw }: Installation, tenant: string, size: number): Promise<Uint8Array> {
  const rows = await raw(
    'SELECT entry FROM entries WHERE tenant_id = $1 AND leaf_index < $2 ORDER BY leaf_index',
    [tenant, size],
  );
  const leaves = rows.map(({ entry }) => leafHash(Uint8Array.from(entry as Buffer)));
  return CompactRange.of(0, leaves).root();
}
