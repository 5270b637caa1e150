import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Move } from '../storage/files/moved-store.ts';
import type { CopyMark, CopyTargetState } from '../storage/postgres/copy/copy-mark.ts';
import { copyStart } from './copy-start.ts';

const OWN = { installationId: 'one', logOrigin: 'audit.example.com' };
const OTHER = { installationId: 'two', logOrigin: 'other.example.com' };
const EMPTY: CopyTargetState = { mark: undefined, installation: undefined, isEmpty: true };
const marked = (state: CopyMark['state'], installation = OWN): CopyTargetState => ({
  mark: { state, copyId: 'a' },
  installation,
  isEmpty: false,
});
const move = (state: Move['state'], copyId: string): Move => ({
  state,
  copyId,
  to: 'postgres://db/audit',
  at: '2026-01-02T03:04:05.678Z',
});

const BEGINNINGS: readonly [string, CopyTargetState, Move | undefined, string | RegExp][] = [
  ['nothing is there', EMPTY, undefined, 'Fresh'],
  ['a copy to another database was not finished', EMPTY, move('Copying', 'b'), 'Fresh'],
  ['it has moved elsewhere', EMPTY, move('Moved', 'b'), /has moved to postgres:\/\/db\/audit already/],
  ['only rows are there', { ...EMPTY, isEmpty: false }, undefined, /not empty/],
  ['a service was started there', { ...EMPTY, installation: OTHER }, undefined, /already: other\.example/],
  ['so was this one', { ...EMPTY, installation: OWN }, undefined, /already: audit\.example/],
  ['a part of this copy', marked('Copying'), move('Copying', 'a'), 'GoOn'],
  ['all of it, but nobody has said so there', marked('Copying'), move('Moved', 'a'), 'GoOn'],
  ['a part, and the directory may have gone on', marked('Copying'), undefined, 'Anew'],
  ['a part of an earlier copy', marked('Copying'), move('Copying', 'b'), 'Anew'],
  ['a part, and it has moved elsewhere', marked('Copying'), move('Moved', 'b'), /has moved to/],
  ['something else than was copied', marked('Differs'), move('Copying', 'a'), 'Anew'],
  ['a part of a copy of another', marked('Copying', OTHER), move('Copying', 'a'), /another installation/],
  ['all of it', marked('Whole'), move('Moved', 'a'), 'Before'],
  ['all of it, and the directory may have gone on', marked('Whole'), undefined, /whole copy already/],
  ['all of an earlier copy', marked('Whole'), move('Copying', 'b'), /whole copy already/],
];

for (const [what, target, moved, expected] of BEGINNINGS) {
  test(`where ${what}: ${String(expected)}`, () => {
    if (typeof expected === 'string') assert.equal(copyStart(target, moved, OWN).how, expected);
    else assert.throws(() => copyStart(target, moved, OWN), { name: 'StartError', message: expected });
  });
}
