// The vectors of exports: valid ones verify, invalid ones are refused for the reason of their folder, and all of them are what is made
// today.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import {
  type ChainedFile,
  EvidenceError,
  type ExportVerdict,
  noteVerifier,
  REASONS,
  verifyChain,
  verifyExport,
} from '@tallystick/evidence';
import { makeExports } from '../vectors/exports.ts';
import { ROOT } from './source.ts';

const FOLDER = join(ROOT, 'vectors/exports');
const foldersIn = (path: string) => readdirSync(join(FOLDER, path)).map((name) => `${path}/${name}`);

async function verify(folder: string): Promise<ExportVerdict> {
  const key = folder === 'valid/after-restore' ? 'after-restore.key' : 'log.key';
  const verifier = await noteVerifier(readFileSync(join(FOLDER, key), 'utf8').trim());
  const archive = {
    names: readdirSync(join(FOLDER, folder)),
    // Rows and lines end within these pieces and between them.
    async *entry(name: string) {
      if (!archive.names.includes(name)) throw new EvidenceError('MALFORMED', `there is no ${name}`);
      const bytes = readFileSync(join(FOLDER, folder, name));
      for (let at = 0; at < bytes.length; at += 777) yield bytes.subarray(at, at + 777);
    },
  };
  return verifyExport(archive, { verifiers: [verifier] });
}

describe('vectors of exports', () => {
  for (const folder of foldersIn('valid'))
    it(`${folder} verifies`, async () => {
      const { rows, manifest } = await verify(folder);
      assert.equal(rows, manifest.counts.exported);
    });

  it('show an export of which nothing is left out, and rows that have no line', async () => {
    const whole = await verify('valid/everything');
    assert.deepEqual([whole.complete, whole.rows, whole.entries], [true, 6, 7]);
    assert.deepEqual([whole.deleted, whole.explainedBy], [1, [6]]);
    const restored = await verify('valid/after-restore');
    assert.deepEqual([restored.rows, restored.rowsUnproven], [6, 5]);
  });

  const sins = foldersIn('invalid').flatMap(foldersIn);
  for (const folder of sins) {
    const reason = folder.split('/')[1]!.toUpperCase().replaceAll('-', '_');
    it(`${folder} is refused`, async () => {
      await assert.rejects(verify(folder), (error) => {
        assert.ok(error instanceof EvidenceError, String(error));
        assert.equal(error.reason, reason, error.message);
        return true;
      });
    });
  }

  it('are a chain, from which none can be taken unseen', async () => {
    const files = await Promise.all(
      foldersIn('chain').map(async (name): Promise<ChainedFile> => {
        const { manifest } = await verify(name);
        const bytes = readFileSync(join(FOLDER, name, 'manifest.json'));
        return { name, manifest, sha256: createHash('sha256').update(bytes).digest('hex') };
      }),
    );
    const { first, last, fromSequence, toSequence, complete } = verifyChain(files);
    assert.deepEqual([first, last, fromSequence, toSequence, complete], [1, 3, 1, 7, true]);
    assert.throws(() => verifyChain(files.toSpliced(1, 1)), /file 2 is missing between/);
  });

  it('name reasons of verdicts', () => {
    const shown = new Set(sins.map((path) => path.split('/')[1]!.toUpperCase().replaceAll('-', '_')));
    assert.ok(shown.has('ROW_MISMATCH'));
    assert.deepEqual(
      [...shown].filter((reason) => !(REASONS as readonly string[]).includes(reason)),
      [],
    );
  });

  it('are what is made today', async () => {
    const made = await makeExports();
    const there = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter((path) =>
      /\.\w+$/.test(path),
    );
    assert.deepEqual(there.map((path) => `exports/${path}`).toSorted(), [...made.keys()].toSorted());
    for (const [path, content] of made)
      assert.equal(readFileSync(join(ROOT, 'vectors', path), 'utf8'), content, path);
  });
});
