// The real command against the real service: holds are placed, listed, shown and released.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { LegalHold } from '@tallystick/contract';
import { type Ended, run } from '../testing/command.ts';
import { emptyPlace } from '../testing/place.ts';
import { policedTenant } from '../testing/policies-command.ts';
import { startSearched } from '../testing/searched-log.ts';
import { noTerminal, typeOnTerminal } from '../testing/terminal.ts';

const place = emptyPlace();
const service = await startSearched(place);
after(async () => {
  await service[Symbol.asyncDispose]();
  place[Symbol.dispose]();
});

const { env } = policedTenant(service.url, 'any');
const holds = ([command, ...args]: readonly string[], tenant: string): Promise<Ended> =>
  run(['holds', command!, '--tenant', tenant, ...args], { env });
const parsed = ({ code, stdout, stderr }: Ended) => {
  assert.deepEqual([code, stderr], [0, '']);
  return JSON.parse(stdout) as LegalHold;
};

test('a hold is placed, listed, shown by its name and by its id, and released', async () => {
  const tenant = 'story';
  const made = await holds(
    ['place', 'Case 7', '--reason', 'Court order', '--conditions', '{"action":"Delete.Invoice"}'],
    tenant,
  );
  assert.deepEqual([made.code, made.stderr], [0, '']);
  assert.match(made.stdout, /^name +Case 7\n/);
  assert.match(made.stdout, /\nconditions +\{"action":"Delete.Invoice"\}\n/);
  const ranged = parsed(
    await holds(['place', 'Case 8', '--reason', 'r', '--from', '2', '--to', '9', '--json'], tenant),
  );
  assert.deepEqual(ranged.range, { fromSequence: 2, toSequence: 9 });
  const [titles, ...rows] = (await holds(['list'], tenant)).stdout.trimEnd().split('\n');
  assert.match(titles!, /^NAME +STATUS +HELD EVENTS +PLACED +RELEASED +HOLD ID$/);
  assert.match(rows[0]!, /^Case 8 +Active +0 +20\S+Z +- +[0-9A-Z]{26}$/);
  assert.equal(rows.length, 2);
  const shown = parsed(await holds(['show', 'Case 7', '--json'], tenant));
  assert.deepEqual(parsed(await holds(['show', shown.holdId.toLowerCase(), '--json'], tenant)), shown);

  const refused = await holds(['release', 'Case 7', '--reason', 'Settled'], tenant);
  assert.deepEqual([refused.code, /give --yes/.test(refused.stderr)], [2, true]);
  const released = parsed(
    await holds(['release', 'Case 7', '--reason', 'Settled', '--yes', '--json'], tenant),
  );
  assert.deepEqual([released.status, released.releaseReason], ['Released', 'Settled']);
  const again = parsed(await holds(['release', shown.holdId, '--reason', 'Twice', '--json'], tenant));
  assert.deepEqual(again, released, 'nothing is asked, and nothing is changed');
  const only = await holds(['list', '--status', 'Released', '--json'], tenant);
  assert.deepEqual(
    (JSON.parse(only.stdout) as LegalHold[]).map(({ name }) => name),
    ['Case 7'],
  );
  const missing = await holds(['show', 'Case 7'], tenant);
  assert.deepEqual([missing.code, /there is no active hold "Case 7"/.test(missing.stderr)], [1, true]);
});

test('what is wrong is said in one line, with the exit code for it', async () => {
  const refusals: [args: string[], code: number, said: RegExp][] = [
    [['place', 'n', '--reason', 'r', '--from', '1'], 2, /--from and --to belong together/],
    [['place', 'n', '--reason', 'r', '--from', '0', '--to', '2'], 2, /--from is "0"; it is a whole number/],
    [['place', 'n', '--reason', 'r', '--conditions', '{'], 2, /--conditions is not JSON/],
    [['place', 'n', '--reason', 'r', '--conditions', '[]'], 2, /--conditions is a JSON object/],
    [['place', 'n', '--reason', 'r', '--conditions', '{"colour":1}'], 1, /conditions\.colour/],
    [['place', 'n', '--reason', 'r', '--from', '3', '--to', '2'], 1, /range\.toSequence/],
    [['list', '--status', 'Open'], 2, /there are Active, Released/],
    [['show', '01KE0000000000000000000042'], 1, /no such legal hold/],
  ];
  for (const [args, code, said] of refusals) {
    const ended = await holds(args, 'wrong');
    assert.equal(ended.code, code, args.join(' '));
    assert.match(ended.stderr, said);
    assert.equal(ended.stderr.trimEnd().split('\n').length, 1, ended.stderr);
  }
});

test('on a terminal a release is asked about', { skip: noTerminal }, async () => {
  const tenant = 'asked';
  parsed(await holds(['place', 'Case 9', '--reason', 'r', '--json'], tenant));
  const args = ['holds', 'release', 'Case 9', '--tenant', tenant, '--reason', 'Settled'];
  const kept = await typeOnTerminal(args, 'no\n', { env });
  assert.equal(kept.code, 1);
  assert.match(kept.shown, /nothing was released/);
  const { code, shown } = await typeOnTerminal(args, 'yes\n', { env });
  assert.equal(code, 0);
  assert.match(shown, /status +Released/);
});
