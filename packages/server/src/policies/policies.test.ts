import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import { type AccessStore, openAccessStore } from '../testing/access-store.ts';
import { ForgedRecord } from '../records/genuine-records.ts';
import { changePolicy, makePolicy } from '../testing/policy-store.ts';
import type { PolicyRecord } from './policy.ts';

let store: AccessStore;
before(async () => {
  store = await openAccessStore();
});
after(() => store[Symbol.asyncDispose]());

/** Somebody who can write to the database, and has no key. */
function alter(sql: string, ...values: string[]): void {
  using journal = new DatabaseSync(join(store.directory, 'journal.db'));
  assert.equal(journal.prepare(sql).run(...values).changes, 1);
}

function alterSchema(sql: string): void {
  using journal = new DatabaseSync(join(store.directory, 'journal.db'));
  journal.exec(sql);
}

const all = (tenant: string) => store.access.policies.all(tenant);
const find = ({ tenantId, policyId }: PolicyRecord) => store.access.policies.find(tenantId, policyId);
const version = ({ tenantId, policyId }: PolicyRecord, number: number) =>
  store.access.policies.version(tenantId, policyId, number);

describe('the policies of a tenant', () => {
  it('are those that were written, by id, deleted ones too, and of no other tenant', async () => {
    const one = await makePolicy(store, 'listed', 'Z');
    const two = await makePolicy(store, 'listed', 'A');
    await makePolicy(store, 'another');
    const gone = await changePolicy(store, one, { status: 'Deleted', rules: [] });
    assert.deepEqual(await all('listed'), [gone, two]);
    assert.deepEqual([await find(one), await find(two)], [gone, two]);
    assert.deepEqual(await all('nobody'), []);
    assert.equal(await store.access.policies.find('another', one.policyId), undefined);
  });

  it('are the same objects until they are changed', async () => {
    const tenant = 'same';
    const one = await makePolicy(store, tenant, 'One');
    await makePolicy(store, tenant, 'Two');
    const [first, second] = await all(tenant);
    await makePolicy(store, 'meanwhile');
    const [firstAgain, secondAgain] = await all(tenant);
    assert.equal(firstAgain, first);
    assert.equal(secondAgain, second);
    await changePolicy(store, one, { priority: 7 });
    const [changed, unchanged] = await all(tenant);
    assert.deepEqual([changed!.version, changed!.priority], [2, 7]);
    assert.equal(unchanged, second);
  });
});

describe('a policy that somebody has changed in the database', () => {
  const cases = {
    'its body': `UPDATE records SET body = replace(body, 'Secret', 'Public') WHERE id = ?`,
    'its state': `UPDATE records SET state = 'Deleted' WHERE id = ?`,
    'its version': 'UPDATE records SET version = 9 WHERE id = ?',
    'its salt': 'UPDATE records SET salt = zeroblob(16) WHERE id = ?',
    'its MAC': 'UPDATE records SET mac = zeroblob(34) WHERE id = ?',
  };
  for (const [what, sql] of Object.entries(cases))
    it(`is not gone on with: ${what}`, async () => {
      const policy = await makePolicy(store, what.replace(' ', '-'));
      // Known from before, so that it is told by its row alone that it is another.
      assert.deepEqual(await all(policy.tenantId), [policy]);
      alter(sql, policy.policyId);
      await assert.rejects(all(policy.tenantId), ForgedRecord);
      await assert.rejects(find(policy), ForgedRecord);
      await assert.rejects(version(policy, 1), ForgedRecord);
      assert.equal(store.forged.at(-1)?.id, policy.policyId);
    });

  it('is not taken for one of another tenant', async () => {
    const [moved] = [await makePolicy(store, 'from', 'Moved'), await makePolicy(store, 'to', 'Own')];
    alter(
      "UPDATE records SET tenant = (SELECT tenant FROM tenants WHERE tenant_id = 'to') WHERE id = ?",
      moved.policyId,
    );
    await assert.rejects(all('to'), ForgedRecord);
    await assert.rejects(all('from'), ForgedRecord, 'it is missing there');
  });
});

describe('the policies of a tenant of which somebody has', () => {
  it('removed one: nobody goes on without it, and it counts again once it is back', async () => {
    const [one] = [await makePolicy(store, 'removed', 'One'), await makePolicy(store, 'removed', 'Two')];
    const before = await all('removed');
    alterSchema(`CREATE TABLE taken AS SELECT * FROM records WHERE id = '${one.policyId}'`);
    alter('DELETE FROM records WHERE id = ?', one.policyId);
    await assert.rejects(all('removed'), ForgedRecord);
    assert.deepEqual(store.forged.at(-1), { owner: 'removed', kind: 'Policy', id: one.policyId });
    await makePolicy(store, 'removed', 'Three');
    await assert.rejects(all('removed'), ForgedRecord, 'also behind a further change');
    alter('INSERT INTO records SELECT * FROM taken WHERE id = ?', one.policyId);
    assert.equal((await all('removed')).length, before.length + 1);
  });

  it('removed all, which leaves no row that says there were any', async () => {
    const { policyId } = await makePolicy(store, 'emptied');
    alter('DELETE FROM records WHERE id = ?', policyId);
    assert.equal((await store.access.tenants.find('emptied'))?.isAltered, true);
  });

  it('put one back to the version before', async () => {
    const first = await makePolicy(store, 'older');
    await changePolicy(store, first, { priority: 2 });
    alter('DELETE FROM records WHERE id = ?', first.policyId);
    alter('INSERT INTO records SELECT * FROM past_records WHERE id = ?', first.policyId);
    await assert.rejects(all('older'), ForgedRecord);
  });

  it('altered a notice, so that nobody knows what it told', async () => {
    const { policyId } = await makePolicy(store, 'unread');
    alter(
      `UPDATE contents SET text2 = CAST(replace(text2, 'Updated', 'Created') AS BLOB) WHERE id IN (SELECT id FROM entries JOIN tenants USING (tenant)
         WHERE tenant_id = 'unread') AND instr(text2, ?) > 0`,
      policyId,
    );
    await using beside = await openAccessStore(store);
    await assert.rejects(beside.access.policies.all('unread'), ForgedRecord);
    assert.deepEqual(beside.forged, [{ owner: 'unread', kind: 'Policy', id: policyId }]);
  });

  it('removed one and altered its notice in the log, in a process that has read that before', async () => {
    const { policyId } = await makePolicy(store, 'unlogged');
    assert.equal((await all('unlogged')).length, 1);
    alter('DELETE FROM records WHERE id = ?', policyId);
    alterSchema('DROP TRIGGER entries_do_not_change');
    alter(
      `UPDATE entries SET entry = CAST(substr(entry, 1, 16) || x'09' || substr(entry, 18) AS BLOB)
       WHERE tenant = (SELECT tenant FROM tenants WHERE tenant_id = 'unlogged')`,
    );
    await assert.rejects(all('unlogged'), ForgedRecord);
  });
});

describe('a version of a policy', () => {
  it('is the current one, or one of the past, or missing', async () => {
    const first = await makePolicy(store, 'versions');
    const second = await changePolicy(store, first, { priority: 2 });
    const third = await changePolicy(store, second, { status: 'Deleted', rules: [] });
    assert.deepEqual(await Promise.all([1, 2, 3].map((number) => version(first, number))), [
      first,
      second,
      third,
    ]);
    assert.deepEqual(await Promise.all([0, 4].map((number) => version(first, number))), [
      undefined,
      undefined,
    ]);
    assert.equal(await version({ ...first, policyId: '01KE0000000000000000000042' }, 1), undefined);
    assert.equal(await version({ ...first, tenantId: 'another' }, 1), undefined);
  });

  it('is refused where somebody has changed it', async () => {
    const first = await makePolicy(store, 'past');
    const second = await changePolicy(store, first, { priority: 2 });
    alter(
      `UPDATE past_records SET body = replace(body, 'Secret', 'Public') WHERE id = ? AND version = 1`,
      first.policyId,
    );
    await assert.rejects(version(first, 1), ForgedRecord);
    assert.deepEqual(await version(first, 2), second);
  });
});
