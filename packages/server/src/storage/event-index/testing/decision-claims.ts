// What every backend's index is held to about policies.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canonicalJson } from '@tallystick/evidence';
import { indexesOf, noting } from './noted-events.ts';
import { type IndexBackend, TestIndex } from './open-index.ts';

/** `open` gives an empty store. */
export function claimDecisions(open: () => Promise<IndexBackend>): void {
  test('finds what a policy has decided about, in segments and behind them', async () => {
    await using backend = await open();
    const index = new TestIndex(backend);
    const decidedBy = (...policies: string[]) =>
      canonicalJson({
        classification: policies.map((policyId) => ({ policyId, decided: true })),
        retention: [{ policyId: 'matched', decided: false }],
      });
    const texts = [decidedBy('one'), decidedBy('two'), decidedBy('one', 'two'), undefined];
    const said = texts.map((decidedByText) => ({
      ...noting('decided'),
      ...(decidedByText && { decidedByText }),
    }));
    const found = async (policy: string) =>
      indexesOf(await index.find('acme', { decidedBy: policy })).toSorted((a, b) => a - b);
    await index.append('acme', said);
    assert.deepEqual(await found('one'), [0, 2]);
    await index.append('acme', said);
    await index.follow();
    await index.append('acme', said);
    assert.ok((await index.segmentsOf('acme')).length > 0);
    assert.deepEqual(await found('one'), [0, 2, 4, 6, 8, 10]);
    assert.deepEqual(await found('two'), [1, 2, 5, 6, 9, 10]);
    assert.deepEqual(await found('matched'), []);
  });
}
