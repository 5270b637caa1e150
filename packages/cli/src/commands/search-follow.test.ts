// Following a log, with the real command against the real service.

import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import type { AuditEvent, EventIntegrity, StreamEvent } from '@tallystick/contract';
import { freePort } from '../../../server/src/testing/free-port.ts';
import { type Running, start } from '../testing/command.ts';
import { emptyPlace } from '../testing/place.ts';
import { ADMIN_KEY, startProxy } from '../testing/running-log.ts';
import { eventsIn, startSearched } from '../testing/searched-log.ts';

const place = emptyPlace();
const service = await startSearched(place);
after(async () => {
  await service[Symbol.asyncDispose]();
  place[Symbol.dispose]();
});

/** So many lines of JSON. */
const shows = (command: Running, count: number) => command.prints(new RegExp(`^(\\{.*\\n){${count}}`));

/** Resolves with the first match in standard error. */
function says(command: Running, pattern: RegExp): Promise<void> {
  let said = '';
  return new Promise((resolve) => {
    command.child.stderr!.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      if (pattern.test(said)) resolve();
    });
  });
}

async function stopped(command: Running): Promise<AuditEvent[]> {
  command.child.kill('SIGINT');
  const { code, signal, stdout } = await command.ended;
  assert.deepEqual({ code, signal }, { code: 0, signal: null });
  return eventsIn(stdout);
}

const sequencesOf = (events: readonly AuditEvent[]) => events.map(({ sequence }) => sequence);
const times = (count: number, action: string) => Array.from({ length: count }, () => ({ action }));

describe('a log that is followed', () => {
  it('is shown as far as it matches: what is there, what arrives, what comes after a seal; each once', async () => {
    const log = service.of('sealed');
    await log.add([...times(1, 'Pay.Invoice'), ...times(2, 'Delete.Invoice')]);
    await using command = log.follow('action:Delete.*', '--json');
    await shows(command, 2);
    await log.add([...times(2, 'Delete.Invoice'), ...times(1, 'Pay.Invoice')]);
    await log.seal();
    await log.add(times(1001, 'Delete.Invoice'));
    await shows(command, 1005);
    // 1 and 6 do not match; 7 is the notice of the seal.
    const expected = [2, 3, 4, 5, ...Array.from({ length: 1001 }, (_, i) => 8 + i)];
    assert.deepEqual(sequencesOf(await stopped(command)), expected);
  });

  it('goes on where it was when the service was away', async () => {
    using ownPlace = emptyPlace();
    const port = String(await freePort());
    const before = await startSearched(ownPlace, port);
    await before.of('acme').add(times(2, 'Delete.Invoice'));
    await using command = before.of('acme').follow('--json');
    await shows(command, 2);
    const [isAway, isBack] = [says(command, /trying again/), says(command, /there again/)];
    await before[Symbol.asyncDispose]();
    await isAway;
    await using again = await startSearched(ownPlace, port);
    await again.of('acme').add(times(3, 'Delete.Invoice'));
    await shows(command, 5);
    await isBack;
    assert.deepEqual(sequencesOf(await stopped(command)), [1, 2, 3, 4, 5]);
  });

  it('begins, with a time, with the stream of that time; notices are shown if they are asked for', async () => {
    const log = service.of('timed');
    const timestamp = new Date().toISOString();
    await log.add([{ action: 'Old.Event' }, { action: 'New.Event', timestamp }]);
    await log.seal();
    await log.add([{ action: 'Late.Event', timestamp }]);
    await using all = log.follow('kind:*', '--json', '--from', timestamp);
    await using open = log.follow('--json');
    await shows(open, 1);
    assert.deepEqual(sequencesOf(await stopped(open)), [4]);
    await shows(all, 3);
    const actions = (await stopped(all)).map(({ action }) => action);
    assert.deepEqual(actions, ['New.Event', 'Seal.EventStream', 'Late.Event']);
  });

  it('may be one that nobody has written to yet', async () => {
    const log = service.of('new');
    await using command = log.follow();
    await says(command, /nothing was ever written/);
    await log.add(times(1, 'Delete.Invoice'));
    await command.prints(/^TIME .*\n.* Delete\.Invoice .*\n/);
    command.child.kill('SIGINT');
    assert.equal((await command.ended).code, 0);
  });

  it('keeps the notice of secrets that were read, also where none matched, and leads in no circle by it', async () => {
    const log = service.of('secret');
    // Older than the other, so that nobody but the command reads it: the test itself looks at the newest alone.
    await log.add([
      { classification: 'Secret', timestamp: '2020-01-01T00:00:00Z' },
      { action: 'Pay.Invoice' },
    ]);
    await using command = log.follow('action:Pay.*', '--json');
    await shows(command, 1);
    await log.add([{ action: 'Pay.Invoice' }]);
    await shows(command, 2);
    await stopped(command);
    const notices = await log.list('kind=Notice');
    assert.deepEqual(
      notices.map(({ action }) => action),
      ['Read.SecretEvent'],
    );
  });

  it('ends quietly when nobody reads it any more', async () => {
    const log = service.of('unread');
    await log.add(times(1, 'Delete.Invoice'));
    await using command = log.follow();
    await command.prints(/Delete\.Invoice/);
    command.child.stdout!.destroy();
    await log.add(times(1, 'Delete.Invoice'));
    const { code, stderr } = await command.ended;
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
  });
});

type Lie = (page: StreamEvent[]) => StreamEvent[];

/** Follows a log of two events, to which two more are added; of these the service seems to show what the lie makes of them. */
async function followLie(tenant: string, lie: Lie): Promise<AsyncDisposable & { readonly command: Running }> {
  const log = service.of(tenant);
  const proxy = await startProxy(service.url);
  // Only the second page is asked for by a sequence.
  proxy.lie = (path, bytes) => {
    if (!path.includes('fromSequence=')) return undefined;
    const page = JSON.parse(bytes.toString()) as { data: StreamEvent[] };
    return Buffer.from(JSON.stringify({ ...page, data: lie(page.data) }));
  };
  await log.add(times(2, 'Delete.Invoice'));
  const command = start(['search', '--follow', '--json', '--tenant', tenant, '--url', proxy.url], {
    env: { TALLYSTICK_API_KEY: ADMIN_KEY },
  });
  await shows(command, 2);
  await log.add(times(2, 'Delete.Invoice'));
  return {
    command,
    async [Symbol.asyncDispose]() {
      await command[Symbol.asyncDispose]();
      await proxy[Symbol.asyncDispose]();
    },
  };
}

/** The first entry of the page in another place of its tree. */
const placed =
  (more: Partial<EventIntegrity>): Lie =>
  ([first, ...others]) => [{ ...first!, integrity: { ...first!.integrity, ...more } }, ...others];

describe('a log that does not go on from what was read', () => {
  const faults: readonly [by: string, lie: Lie, message: RegExp][] = [
    [
      'a gap',
      (page) => page.slice(1),
      /: the log is not the one that was followed: 4 is shown in the place of 3\n$/,
    ],
    ['a page without an event', () => [], /: 4 is there, and nothing of it is shown\n$/],
    [
      'a chain that does not fit',
      placed({ previousHash: '00' }),
      /^tallystick: the entry at sequence 3 does not go on from the one that was read before it/,
    ],
  ];
  for (const [by, lie, message] of faults) {
    it(`is told by ${by}, and shown no further`, async () => {
      await using followed = await followLie(by.replaceAll(' ', '-'), lie);
      const { code, stdout, stderr } = await followed.command.ended;
      assert.deepEqual([code, eventsIn(stdout).length], [1, 2]);
      assert.match(stderr, message);
    });
  }

  it('is followed further where it says that a new one begins, and the reader is told', async () => {
    await using followed = await followLie('restored', placed({ leafIndex: 0, previousHash: '00' }));
    await shows(followed.command, 4);
    await stopped(followed.command);
    const { stderr } = await followed.command.ended;
    assert.equal(stderr, 'tallystick: a new log begins at sequence 3, after a restore\n');
  });

  it('is followed further where an event is not what was accepted, and the reader is told', async () => {
    await using followed = await followLie('altered', ([first, ...others]) => {
      const { sequence, eventId, integrity } = first!;
      return [
        { sequence, eventId, withheld: 'Altered', integrity: { ...integrity, previousHash: '00' } },
        ...others,
      ];
    });
    await shows(followed.command, 3);
    assert.deepEqual(sequencesOf(await stopped(followed.command)), [1, 2, 4]);
    const { stderr } = await followed.command.ended;
    assert.match(
      stderr,
      /^tallystick: what is stored at sequence 3 is not what was accepted: it is not shown\n$/,
    );
  });
});
