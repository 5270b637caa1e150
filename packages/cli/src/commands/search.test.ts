// The real command against the real service.

import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { answering } from '../testing/answering.ts';
import { emptyPlace } from '../testing/place.ts';
import { TENANT } from '../testing/running-log.ts';
import { eventsIn, startSearched } from '../testing/searched-log.ts';
import { run } from '../testing/command.ts';

const place = emptyPlace();
const service = await startSearched(place);
const log = service.of(TENANT);
after(async () => {
  await service[Symbol.asyncDispose]();
  place[Symbol.dispose]();
});

const MANY = 2050;
await log.add([
  { timestamp: '2026-01-02T03:00:00Z', payload: { note: 'a refund' } },
  { timestamp: '2026-01-03T03:00:00Z', action: 'Pay.Invoice', outcome: 'Denied' },
  {
    timestamp: '2026-01-04T03:00:00Z',
    actor: { actorType: 'Service', serviceName: 'billing' },
    classification: 'Confidential',
  },
]);
await log.add(
  Array.from({ length: MANY }, (_, i) => ({
    action: 'Read.Page',
    timestamp: new Date(Date.UTC(2025, 0, 1) + 1000 * i).toISOString(),
  })),
);

describe('what is found', () => {
  it('is a table for people, newest first, with the number of events at its end', async () => {
    const found = await log.search('--limit', '9', '--', '-action:Read.Page');
    assert.deepEqual(found, {
      code: 0,
      signal: null,
      stdout: [
        'TIME                      ACTION            ACTOR         RESOURCE          OUTCOME  CLASSIFICATION',
        '2026-01-04T03:00:00.000Z  Delete.Invoice    billing       Invoice INV-42    Success  Confidential',
        '2026-01-03T03:00:00.000Z  Pay.Invoice       u-1           Invoice INV-42    Denied   Internal',
        '2026-01-02T03:00:00.000Z  Delete.Invoice    u-1           Invoice INV-42    Success  Internal',
        '3 events found.',
        '',
      ].join('\n'),
      stderr: '',
    });
  });

  it('is, as JSON, what the service lists: an event a line, and nothing else', async () => {
    const { code, stdout, stderr } = await log.search('action:Delete.*', '--json');
    assert.deepEqual([code, stderr], [0, '']);
    const data = await log.list('q=action:Delete.*');
    assert.equal(data.length, 2);
    assert.deepEqual(eventsIn(stdout), data);
  });

  it('is all of it, once each, over several pages; or as many as were asked for', async () => {
    const sequences = async (...args: string[]) => {
      const { code, stdout } = await log.search('action:Read.*', '--json', ...args);
      assert.equal(code, 0);
      return eventsIn(stdout).map(({ sequence }) => sequence);
    };
    const newestFirst = Array.from({ length: MANY }, (_, i) => MANY + 3 - i);
    assert.deepEqual(await sequences('--all'), newestFirst);
    assert.deepEqual(await sequences('--limit', '0', '--sort', 'timestamp'), newestFirst.toReversed());
    assert.deepEqual(await sequences('--limit', '1001'), newestFirst.slice(0, 1001));
    assert.deepEqual(await sequences(), newestFirst.slice(0, 50));
  });

  it('says how many there are when not all are shown', async () => {
    const { stdout } = await log.search('action:Read.*', '--limit', '2');
    assert.match(stdout, /\n2 of 2050 events shown; --limit <n> or --all shows more\.\n$/);
  });

  it('is limited to a time, a day being all of it', async () => {
    const count = async (...args: string[]) =>
      eventsIn((await log.search('--json', '--limit', '9', ...args)).stdout).length;
    assert.equal(await count('--from', '2026-01-03'), 2);
    assert.equal(await count('--from', '2026-01-02', '--to', '2026-01-03'), 2);
    assert.equal(await count('--from', '2026-01-03T03:00:00.001Z'), 1);
    assert.equal(await count('--from', '2026-01-03T04:00:00+01:00', '--to', '2026-01-03T03:00:00Z'), 1);
  });

  it('is sorted as asked, also by relevance', async () => {
    const first = async (...args: string[]) =>
      eventsIn((await log.search('--json', '--limit', '1', ...args)).stdout)[0]?.sequence;
    assert.equal(await first('--sort', 'timestamp'), 4);
    assert.equal(await first('--sort', '-action,timestamp'), 4);
    assert.equal(await first('action:Delete.* OR action:Pay.*', '--sort', 'action,timestamp'), 1);
    assert.equal(await first('refund', '--sort', 'relevance'), 1);
  });

  it('holds notices if the query asks for kinds, and no others do', async () => {
    await log.seal();
    await log.add([{ action: 'Open.Day' }]);
    const notices = eventsIn((await log.search('kind:Notice', '--json')).stdout);
    assert.deepEqual(
      notices.map(({ action }) => action),
      ['Seal.EventStream'],
    );
    assert.deepEqual(eventsIn((await log.search('seal', '--json')).stdout), []);
  });

  it('may be nothing, which is no failure; a tenant that never wrote is named', async () => {
    const none = await log.search('nothingofthekind');
    assert.deepEqual([none.code, none.stdout, none.stderr], [0, '0 events found.\n', '']);
    const unknown = await log.search('--tenant', 'nobody');
    assert.deepEqual([unknown.code, unknown.stderr], [0, '']);
    assert.equal(unknown.stdout, '0 events found: nothing was ever written to the log of nobody.\n');
    const asJson = await log.search('--tenant', 'nobody', '--json');
    assert.deepEqual([asJson.code, asJson.stdout, asJson.stderr], [0, '', '']);
  });

  it('steers no terminal, whatever an event says', async () => {
    const hostile = '\u001b]0;owned\u0007\u009b31m\nfake line\u202etxt.exe\u2028';
    await log.add([
      {
        action: 'Take.Over',
        actor: { actorType: 'User', userId: hostile },
        resource: { resourceType: hostile, resourceId: hostile },
        payload: { [hostile]: hostile },
      },
    ]);
    const table = await log.search('action:Take.Over');
    assert.equal(table.stdout.split('\n').length, 4);
    const asJson = await log.search('action:Take.Over', '--json');
    for (const { stdout } of [table, asJson]) {
      // oxlint-disable-next-line no-control-regex -- they are what is looked for
      assert.doesNotMatch(stdout, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u202e]/);
    }
    const [event] = eventsIn(asJson.stdout);
    assert.deepEqual([event!.actor.userId, event!.payload], [hostile, { [hostile]: hostile }]);
  });
});

describe('what cannot be done', () => {
  it('is, of a query, exit code 2 with the query and a mark under the column', async () => {
    for (const [query, lines] of [
      ['outcome:Sucess', ['  outcome:Sucess', '          ^']],
      ['"東京" a\u001b[m (', ['  "東京" a\\u001b[m (', '                   ^']],
    ] as const) {
      const { code, stdout, stderr } = await log.search(query);
      assert.deepEqual([code, stdout], [2, '']);
      assert.match(stderr, /^tallystick: the query cannot be read: column \d+: .+\n/);
      assert.deepEqual(stderr.split('\n').slice(1), [...lines, '']);
    }
  });

  it('is, of a command line, exit code 2 and one line', async () => {
    const { code, stdout, stderr } = await log.search('--limit', 'many');
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(stderr, /^tallystick: --limit is "many"[^\n]+\n$/);
    assert.equal((await run(['search', 'a'])).code, 2, 'there is no tenant');
    assert.equal((await log.search('-not')).code, 2, 'a query that begins with a - needs a --');
  });

  it('is, of a service that refuses, exit code 1 and one line that says what to do', async () => {
    const other = await place.run(['keys', 'create', '--tenant', 'other', '--role', 'Viewer']);
    const writer = await place.run(['keys', 'create', '--tenant', TENANT, '--scope', 'audit:write']);
    for (const [key, says] of [
      ['wrong', /answers 401 \(UNAUTHENTICATED: .*\): give an API key that may read/],
      [other.stdout.trim(), /answers 403 \(TENANT_MISMATCH: .*audit:read, and the tenant/],
      [writer.stdout.trim(), /answers 403 \(.*audit:read/],
    ] as const) {
      for (const more of [[], ['--follow']]) {
        const { code, stdout, stderr } = await log.search('--api-key', key, ...more);
        assert.deepEqual([code, stdout], [1, '']);
        assert.match(stderr, says);
        assert.match(stderr, /^tallystick: [^\n]+\n$/);
        assert.ok(!stderr.includes(key), 'the key is not shown');
      }
    }
  });

  it('is, of an address that is none of a service, exit code 1; and no redirect is followed', async () => {
    const asked: string[] = [];
    await using other = await answering((request, response) => {
      asked.push(request.url ?? '');
      response.end('{"data":[]}');
    });
    await using away = await answering((_, response) => {
      response.writeHead(307, { location: other.url });
      response.end();
    });
    await using odd = await answering((_, response) => {
      response.end('{"data":[{"action":1}],"pagination":{"total":1}}');
    });
    await using page = await answering((_, response) => void response.end('<html>'));
    for (const [url, says] of [
      [away.url, /answers 307 .*redirects are not followed/],
      [odd.url, /not of the shape/],
      [page.url, /^tallystick: .+/],
    ] as const) {
      const { code, stdout, stderr } = await log.search('--url', url);
      assert.deepEqual([code, stdout], [1, '']);
      assert.match(stderr, says);
    }
    assert.deepEqual(asked, []);
  });
});
