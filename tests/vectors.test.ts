// The project's own vectors: valid ones verify, invalid ones are refused for the reason of their folder, and
// all of them are what is made today.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import {
  cosignatureVerifier,
  EvidenceError,
  type HostHashing,
  noteVerifier,
  parseCheckpoint,
  parseEventProof,
  parseNote,
  pooledContentsOf,
  REASONS,
  type Trust,
  verifyBundle,
  verifyEventProof,
} from '@tallystick/evidence';
import { makeDeliveries } from '../vectors/deliveries.ts';
import { makeVectors } from '../vectors/make.ts';
import { ROOT } from './source.ts';

const FOLDER = join(ROOT, 'vectors');
const files = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter((path) =>
  /^(in)?valid\//.test(path),
);
const bundles = files.filter((path) => path.endsWith('.jsonl'));
const proofs = files.filter((path) => /event-proof[^/]*\.(json|txt)$/.test(path));

const read = (path: string): string => readFileSync(join(FOLDER, path), 'utf8');
const keyIn = (path: string): Promise<Trust['verifiers'][number]> => noteVerifier(read(path).trim());

async function verify(path: string): Promise<unknown> {
  const key = path === 'valid/after-restore.jsonl' ? 'valid/after-restore.key' : 'valid/log.key';
  const trust: Trust = { verifiers: [await keyIn(key)] };
  if (proofs.includes(path)) return verifyEventProof(parseEventProof(read(path)), trust);
  return verifyBundle([readFileSync(join(FOLDER, path))], trust);
}

describe('valid vectors', () => {
  const valid = [...bundles, ...proofs].filter((path) => path.startsWith('valid/'));
  it('are there', () => assert.ok(valid.length >= 13, `${valid.length}`));
  for (const path of valid) it(`${path} verifies`, async () => assert.ok(await verify(path)));

  it('show a witness that has cosigned', async () => {
    const witnesses = {
      verifiers: [await cosignatureVerifier(read('valid/witness.key').trim())],
      countMin: 1,
    };
    const verifiers = [await keyIn('valid/log.key')];
    const verdict = await verifyBundle([readFileSync(join(FOLDER, 'valid/cosigned.jsonl'))], {
      verifiers,
      witnesses,
    });
    assert.deepEqual(verdict.checkpoint.cosignedBy, ['witness.example.org/w1']);
  });

  it('extend the older checkpoint', async () => {
    const since = parseCheckpoint(parseNote(read('valid/older-checkpoint')).text);
    const verifiers = [await keyIn('valid/log.key')];
    const verdict = await verifyBundle([readFileSync(join(FOLDER, 'valid/whole-log.jsonl'))], {
      verifiers,
      since,
    });
    assert.equal(verdict.extends, 7);
  });
});

describe('invalid vectors', () => {
  const invalid = [...bundles, ...proofs].filter((path) => path.startsWith('invalid/'));
  for (const path of invalid) {
    const reason = path.split('/')[1]!.toUpperCase().replaceAll('-', '_');
    it(`${path} is refused`, async () => {
      await assert.rejects(verify(path), (error) => {
        assert.ok(error instanceof EvidenceError, String(error));
        assert.equal(error.reason, reason, error.message);
        return true;
      });
    });
  }

  it('are there for every reason that a file alone can have', () => {
    const shown = new Set(invalid.map((path) => path.split('/')[1]!.toUpperCase().replaceAll('-', '_')));
    const needMore = ['WITNESS_MISSING', 'ROLLBACK', 'FORK', 'HISTORY_UNPROVEN', 'ROW_MISMATCH']; // need more than the file
    assert.deepEqual(
      REASONS.filter((reason) => !shown.has(reason)),
      needMore,
    );
  });
});

describe('all vectors', () => {
  it('get the same verdict where the host hashes', async () => {
    const outcome = async (path: string, host?: HostHashing): Promise<unknown> => {
      const trust: Trust = { verifiers: [await keyIn('valid/log.key')] };
      return verifyBundle([readFileSync(join(FOLDER, path))], trust, host).catch((error: unknown) => error);
    };
    for (const path of bundles) {
      const host = { checksum: createHash('sha256'), contentsOf: pooledContentsOf };
      assert.deepEqual(await outcome(path, host), await outcome(path), path);
    }
  });

  it('are what is made today', async () => {
    const made = await makeVectors();
    assert.deepEqual(
      files.filter((path) => /\.[a-z]+$|checkpoint$/.test(path)).sort(),
      [...made.keys()].sort(),
    );
    for (const [path, text] of made) assert.equal(read(path), text, path);
  });
});

describe('the vectors of webhook deliveries', () => {
  it('are what is made today', () => {
    const made = makeDeliveries();
    const there = readdirSync(join(FOLDER, 'webhooks'), { recursive: true, encoding: 'utf8' })
      .filter((path) => /\.\w+$/.test(path))
      .map((path) => `webhooks/${path}`);
    assert.deepEqual(there.toSorted(), [...made.keys()].toSorted());
    for (const [path, text] of made) assert.equal(read(path), text, path);
  });
});
