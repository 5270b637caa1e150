// Content is removed while a log goes on, in any order, with restarts and stops between the steps: no proof that was ever
// given breaks, the store verifies and says what was deleted under which notices, and a gap that no notice explains is found.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { CLASSIFICATIONS } from '@tallystick/contract';
import {
  decodeEntry,
  formatEventProof,
  noteVerifier,
  openTexts,
  parseEventProof,
  verifyBundle,
  verifyEventProof,
} from '@tallystick/evidence';
import { reportStore } from '../../packages/cli/src/verify/store-report.ts';
import { checkStore } from '../../packages/server/src/check-store.ts';
import { loadConfig } from '../../packages/server/src/config/config.ts';
import { openBundle } from '../../packages/server/src/operate/make-bundle.ts';
import type { RemovalStore } from '../../packages/server/src/streams/removal/removal.ts';
import { SIZE } from './size.ts';
import { chanceFrom } from './tamper/byte-changes.ts';
import { LOG_ORIGIN, Maker } from './tamper/made-store.ts';

const SEEDS = SIZE.isLong ? 40 : 4;
const STEPS = 14;
const TENANT = 'acme';

/** Where a removal is stopped: behind its notice, or never. */
const STOPS: readonly Partial<RemovalStore>[] = [
  { deleteContents: () => Promise.reject(new Error('stopped')) },
  {},
  {},
];

class World {
  readonly directory = mkdtempSync(join(tmpdir(), 'tallystick-removal-'));
  readonly chance: (below: number) => number;
  readonly proofs: string[] = [];
  /** Of the entries that a purge notice names, and of which it has deleted the content. */
  readonly named = new Set<number>();
  maker!: Maker;
  size = 0;

  constructor(seed: number) {
    this.chance = chanceFrom(seed);
  }

  async restart(): Promise<void> {
    await this.maker?.[Symbol.asyncDispose]();
    this.maker = await Maker.open(this.directory);
    await this.publish();
  }

  async append(): Promise<void> {
    await this.maker.events(TENANT, 1 + this.chance(20));
    await this.publish();
  }

  async publish(): Promise<void> {
    await this.maker.publish();
    this.size = (await this.maker.storage.tree.forTenant(TENANT).head())?.latest?.size ?? 0;
  }

  /** Some spans anywhere in what is signed, some of which were removed before. */
  async remove(): Promise<void> {
    const spans = [];
    for (let from = this.chance(5); from < this.size; from += 1 + this.chance(30)) {
      const endIndex = Math.min(this.size, from + 1 + this.chance(8));
      spans.push({ firstIndex: from, endIndex });
      from = endIndex;
    }
    await this.maker.purge(TENANT, spans, STOPS[this.chance(STOPS.length)]).catch((error: Error) => {
      if (error.message !== 'stopped') throw error;
    });
    await this.publish();
    for (const event of await this.maker.storage.log.forTenant(TENANT).events(0, this.size, this.size)) {
      const isNamed = spans.some((span) => span.firstIndex <= event.index && event.index < span.endIndex);
      if (!isNamed || decodeEntry(event.entry).kind !== 1) continue;
      assert.ok(event.content !== undefined && 'purgedAtMs' in event.content, `${event.index} is purged`);
      this.named.add(event.index);
    }
  }

  async prove(): Promise<void> {
    const index = this.chance(Math.max(1, this.size));
    const { log, tree } = this.maker.storage;
    const [event] = await log.forTenant(TENANT).events(index, index + 1, 1);
    if (event === undefined) return;
    const { eventId } = decodeEntry(event.entry);
    const found = await tree
      .forTenant(TENANT)
      .proveEvent({ eventId, visible: CLASSIFICATIONS, preferred: [] });
    assert.ok(found !== undefined && !('fault' in found) && found.under !== undefined);
    const { entry, roots, content } = found.evidence;
    const isOpen = content !== undefined && 'texts' in content;
    assert.equal(isOpen, !this.named.has(index));
    const shown = isOpen
      ? openTexts(content.texts, content.salts)
      : ([{ root: roots[0] }, { root: roots[1] }] as const);
    const { checkpoint, hashes } = found.under;
    this.proofs.push(formatEventProof({ entry, shown, hashes, checkpoint: checkpoint.note }));
  }

  async verify(): Promise<void> {
    const report = await checkStore(this.directory, { keys: [], seen: [] });
    assert.deepEqual(report.faults, []);
    const log = report.tenants.find(({ tenant }) => tenant === TENANT)!.logs[0]!;
    assert.ok(log.deleted <= this.named.size);
    assert.equal(log.deleted > 0, log.explainedBy.length > 0);
    const shown = { kind: 'Directory', shown: 'data', isKeyless: false, isVerbose: false } as const;
    const told = `${log.deleted} ${log.deleted === 1 ? 'entry' : 'entries'} of ${log.origin}, explained by notices at ${log.explainedBy.join(', ')}\n`;
    assert.equal(reportStore(shown, report).text.includes(told), log.deleted > 0);
    const { config } = loadConfig({
      variables: { Storage__DataDirectory: this.directory, Log__Origin: LOG_ORIGIN },
      workingDirectory: this.directory,
    });
    const request = { tenant: TENANT, part: {}, withholdContent: false, waitMs: 0 };
    await using bundle = await openBundle(config, request);
    const verifiers = await Promise.all(bundle.verifierKeys.map(noteVerifier));
    const chunks: Uint8Array[] = [];
    for await (const lines of bundle.lines()) chunks.push(...lines);
    const verdict = await verifyBundle(chunks, { verifiers, allowWithheld: false });
    assert.equal(verdict.deleted, this.named.size);
    for (const proof of this.proofs) await verifyEventProof(parseEventProof(proof), { verifiers });
  }

  /** Without a notice. */
  deleteContent(index: number): void {
    using db = new DatabaseSync(join(this.directory, 'journal.db'));
    const sql = `DELETE FROM contents WHERE id = (SELECT id FROM entries JOIN tenants USING (tenant)
      WHERE tenant_id = ? AND leaf_index = ?)`;
    assert.equal(db.prepare(sql).run(TENANT, index).changes, 1);
  }
}

for (let seed = 1; seed <= SEEDS; seed++) {
  test(`appends, removals, stops and restarts in any order break no proof (seed ${seed})`, async () => {
    const world = new World(seed);
    try {
      await world.restart();
      await world.append();
      for (let step = 0; step < STEPS; step++) {
        const turn = world.chance(8);
        if (turn < 3) await world.append();
        else if (turn < 5) await world.remove();
        else if (turn < 7) await world.prove();
        else await world.restart();
        if (step % 4 === 3) await world.verify();
      }
      await world.maker.purge(TENANT, [{ firstIndex: 0, endIndex: 1 }]);
      world.named.add(0);
      await world.append();
      await world.verify();
      const last = world.size - 1;
      world.deleteContent(last);
      const { faults } = await checkStore(world.directory, { keys: [], seen: [] });
      assert.deepEqual(
        faults.map(({ reason, index }) => [reason, index]),
        [['GAP_UNEXPLAINED', last]],
      );
    } finally {
      await world.maker?.[Symbol.asyncDispose]();
      rmSync(world.directory, { recursive: true, force: true });
    }
  });
}
