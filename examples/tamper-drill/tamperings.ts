// Ways to tamper with a store, from the clumsy to the careful, and what finds each of them. The list is the lesson:
// what is checked against nothing but itself can be made to fit, and only what somebody else holds cannot.

import type { Reason } from '@tallystick/evidence';
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Trail } from './make-trail.ts';
import { addEvent, rechain, replaceSigningKey, signAnew } from './forger.ts';
import type { Victim } from './victim.ts';

/** What the verifier has at hand, one thing more at each step. */
export const FINDERS = [
  'the database',
  'the anchor',
  "the auditor's key",
  "the auditor's checkpoint",
] as const;
export type Finder = (typeof FINDERS)[number] | 'nobody';

export interface Tampering {
  readonly name: string;
  /** Who would do that, and why. */
  readonly story: string;
  /** The first thing at hand that gives it away, and the reason that the verifier names. */
  readonly foundBy: Finder;
  readonly reason?: Reason;
  readonly tamper: (victim: Victim, trail: Trail) => void | Promise<void>;
}

/** Payment 4 is the entry with the index 3 of the tenant, and the fifth row that was ever written: the first is of the installation. */
const CHANGE_AMOUNT =
  "UPDATE contents SET text2 = CAST(replace(CAST(text2 AS TEXT), '400', '40') AS BLOB) WHERE id = 5";
const NEWEST_NOTE = 'SELECT note FROM checkpoints WHERE tenant = 2 ORDER BY size DESC LIMIT 1';

export const TAMPERINGS: readonly Tampering[] = [
  {
    name: 'change-value',
    story: 'Payment 4 was of 400. Somebody with access to the database makes it 40.',
    foundBy: 'the database',
    reason: 'LEAF_MISMATCH',
    tamper: (victim) => victim.write((run) => run(CHANGE_AMOUNT)),
  },
  {
    name: 'flip-bit',
    story: 'One bit of an entry is turned: payment 4 was accepted a millisecond earlier or later.',
    foundBy: 'the database',
    reason: 'LEAF_MISMATCH',
    tamper: (victim) =>
      victim.write((run, db) => {
        const { entry } = db.prepare('SELECT entry FROM entries WHERE id = 5').get() ?? {};
        const flipped = Uint8Array.from(entry as Uint8Array, (byte, i) => (i === 35 ? byte ^ 1 : byte));
        run('UPDATE entries SET entry = ? /* byte 35 xor 1 */ WHERE id = 5', flipped);
      }),
  },
  {
    name: 'delete-content',
    story: 'The content of payment 4 is deleted, as retention would do it; but no notice in the log says so.',
    foundBy: 'the database',
    reason: 'GAP_UNEXPLAINED',
    tamper: (victim) => victim.write((run) => run('DELETE FROM contents WHERE id = 5')),
  },
  {
    name: 'delete-event',
    story: 'Payment 4 is deleted altogether.',
    foundBy: 'the database',
    reason: 'INDEX_MISMATCH',
    tamper: (victim) =>
      victim.write((run) => {
        run('DELETE FROM contents WHERE id = 5');
        run('DELETE FROM entries WHERE id = 5');
      }),
  },
  {
    name: 'swap-two',
    story: 'Payments 4 and 5 change places.',
    foundBy: 'the database',
    reason: 'INDEX_MISMATCH',
    tamper: (victim) =>
      victim.write((run) => {
        run('UPDATE entries SET leaf_index = -1 WHERE id = 5');
        run('UPDATE entries SET leaf_index = 3 WHERE id = 6');
        run('UPDATE entries SET leaf_index = 4 WHERE id = 5');
      }),
  },
  {
    name: 're-chain',
    story: 'Payment 4 is changed by somebody who has read the source: every hash from there on is made anew.',
    foundBy: 'the database',
    reason: 'ROOT_MISMATCH',
    tamper: (victim) =>
      victim.write((run, db) => {
        run(CHANGE_AMOUNT);
        rechain(db, 3);
        victim.say('UPDATE entries SET entry, leaf, root1, root2 = … of index 3 to 11, recomputed');
      }),
  },
  {
    name: 'edit-checkpoint',
    story: 'The newest checkpoint is edited: one character of its root.',
    foundBy: 'the database',
    reason: 'SIGNATURE_INVALID',
    tamper: (victim) =>
      victim.write((run, db) => {
        const { note } = db.prepare(NEWEST_NOTE).get() ?? {};
        const [origin, size, root, ...rest] = String(note).split('\n');
        const other = `${root?.startsWith('A') ? 'B' : 'A'}${root?.slice(1)}`;
        run(
          'UPDATE checkpoints SET note = ? /* another root */ WHERE note = ?',
          [origin, size, other, ...rest].join('\n'),
          String(note),
        );
      }),
  },
  {
    name: 'cut-tail',
    story:
      'The last three payments are cut off, with the checkpoints over them. What is left is sound in itself.',
    foundBy: 'the anchor',
    reason: 'ROLLBACK',
    tamper: (victim) =>
      victim.write((run) => {
        run('DELETE FROM contents WHERE id IN (SELECT id FROM entries WHERE tenant = 2 AND leaf_index >= 9)');
        run('DELETE FROM entries WHERE tenant = 2 AND leaf_index >= 9');
        run('DELETE FROM checkpoints WHERE tenant = 2 AND size > 9');
      }),
  },
  {
    name: 'roll-back',
    story: 'The database is put back to its state at noon, from a backup.',
    foundBy: 'the anchor',
    reason: 'ROLLBACK',
    tamper: (victim, trail) => putBack(victim, trail, 'journal.db'),
  },
  {
    name: 'edit-anchor',
    story: 'A number in the anchor is edited, so that a shorter log would fit.',
    foundBy: 'the anchor',
    reason: 'CHECKSUM_MISMATCH',
    tamper(victim) {
      victim.say(`anchor: "/t/acme 12 …" becomes "/t/acme 9 …"`);
      victim.edit('anchor', (text) => text.replace('/t/acme 12 ', '/t/acme 9 '));
    },
  },
  {
    name: 'remove-anchor',
    story: 'The anchor is deleted: then nothing beside the database remembers how far the log was.',
    foundBy: 'the anchor',
    reason: 'HISTORY_UNPROVEN',
    tamper(victim) {
      victim.say('rm anchor');
      rmSync(victim.path('anchor'));
    },
  },
  {
    name: 'forge-with-another-key',
    story:
      'A forger without the signing key re-chains the log, puts a key of his own in place and signs with that.',
    foundBy: "the auditor's key",
    reason: 'KEY_UNKNOWN',
    async tamper(victim) {
      victim.write((run, db) => {
        run(CHANGE_AMOUNT);
        rechain(db, 3);
      });
      await replaceSigningKey(victim);
      await signAnew(victim);
      victim.say(
        'entries from index 3 on recomputed; signing-keys/ replaced; checkpoints signed; anchor rewritten',
      );
    },
  },
  {
    name: 'roll-back-all',
    story: 'The whole data directory is put back to its state at noon, the anchor with it.',
    foundBy: "the auditor's checkpoint",
    reason: 'ROLLBACK',
    tamper(victim, trail) {
      putBack(victim, trail, 'journal.db');
      putBack(victim, trail, 'anchor');
    },
  },
  {
    name: 'forge-with-the-key',
    story: 'The operator re-chains the log and signs it with the real key: all in the directory fits.',
    foundBy: "the auditor's checkpoint",
    reason: 'FORK',
    async tamper(victim) {
      victim.write((run, db) => {
        run(CHANGE_AMOUNT);
        rechain(db, 3);
      });
      await signAnew(victim);
      victim.say(
        'entries from index 3 on recomputed; checkpoints signed with the real key; anchor rewritten',
      );
    },
  },
  {
    name: 'add-event',
    story: 'A payment that never happened is added at the end, in the right form, as if it had been sent.',
    foundBy: 'nobody',
    tamper: (victim) =>
      victim.write((_, db) => {
        addEvent(db, 12);
        victim.say('INSERT INTO entries … index 12; INSERT INTO contents … "amount":9999');
      }),
  },
];

function putBack(victim: Victim, { noon }: Trail, name: string): void {
  victim.say(`cp ${join('store-at-noon', name)} ${name}`);
  rmSync(victim.path(`${name}-wal`), { force: true });
  rmSync(victim.path(`${name}-shm`), { force: true });
  cpSync(join(noon, name), victim.path(name));
}
