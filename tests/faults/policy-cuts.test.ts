// P21 for changes of policies, cut at each place: before the append, in the commit, and behind it before the answer. A restart finds
// all of a change or nothing, and the same request again is answered as the first was, or would have been.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { BACKENDS } from './backends.ts';
import { creationOf, Place, requireWhole, requireWholeCommits } from './policies/cut-changes.ts';
import { SIZE } from './size.ts';

/** Of five that are cut before they are appended: so far they are all alike. */
const CHANGES = SIZE.isLong ? 5 : 2;

test('a change of a policy that is cut before it is appended is not there, and is made when it is asked for again', () =>
  requireWhole(BACKENDS.SQLite, 'Before', CHANGES));

test('a change of a policy that is cut behind its commit is there, and is answered as it was made', () =>
  requireWhole(BACKENDS.SQLite, 'Behind'));

test('a change of a policy that is cut in its commit is there as a whole, or not at all', async (t) => {
  t.diagnostic(await requireWholeCommits(BACKENDS.SQLite, SIZE.isLong));
});

test('control: a version without its notice, or a notice without its version, is seen by this', async () => {
  for (const half of ['DELETE FROM records', 'UPDATE records SET version = 2']) {
    await using place = new Place(await BACKENDS.SQLite());
    await place.start();
    assert.equal((await place.ask(creationOf('watch'))).status, 201);
    await place.service[Symbol.asyncDispose]();
    assert.equal((await place.versions()).length, 1);
    const journal = new DatabaseSync(join(place.backend.start.dataDirectory, 'journal.db'));
    journal.exec(`${half} WHERE kind = 'Policy'`);
    journal.close();
    await assert.rejects(place.versions(), assert.AssertionError);
  }
});
