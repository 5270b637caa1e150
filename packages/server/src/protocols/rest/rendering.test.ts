// Other renderings of an answer over real HTTP: made for callers that prefer them, and for nobody else.

import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import type { EventProof } from '@tallystick/contract';
import { ALLOWED, believeKey, EVENT_ID } from '../../testing/bound-operations.ts';
import { startTestApp, type TestApp } from '../../testing/test-app.ts';

const PROOF: EventProof = {
  eventId: EVENT_ID,
  leafIndex: 0,
  treeSize: 1,
  entry: '',
  open: [],
  closed: [],
  groups: [null, null],
  hashes: [],
  checkpoint: '',
};

let text: () => string | Uint8Array;
let timesMade = 0;
let app: TestApp;
before(async () => {
  app = await startTestApp(
    {},
    {
      authenticate: believeKey,
      operations: {
        'events.prove': () => {
          const make = () => {
            timesMade++;
            return text();
          };
          return Promise.resolve({ kind: 'Done', body: PROOF, alsoAs: { 'text/plain': make } });
        },
      },
    },
  );
});
after(() => app[Symbol.asyncDispose]());
beforeEach(() => {
  timesMade = 0;
  text = () => 'c2sp.org/tlog-proof@v1\n€\n';
});

const get = (headers: Record<string, string>, method = 'GET') =>
  fetch(`${app.url}/api/v1/audit-events/${EVENT_ID}/proof`, { method, headers: { ...ALLOWED, ...headers } });

test('the other rendering is made for a caller that prefers it', async () => {
  const got = await get({ Accept: 'text/plain, application/json;q=0.5' });
  assert.equal(got.status, 200);
  assert.equal(got.headers.get('content-type'), 'text/plain; charset=utf-8');
  assert.equal(got.headers.get('content-length'), '27');
  assert.equal(await got.text(), 'c2sp.org/tlog-proof@v1\n€\n');
  assert.equal(timesMade, 1);
});

test('everybody else gets JSON, and the other rendering is not made', async () => {
  for (const accept of ['*/*', 'application/json', 'image/png', 'text/plain;q=0', 'text/plain, */*']) {
    const got = await get({ Accept: accept });
    assert.equal(got.status, 200, accept);
    assert.equal(got.headers.get('content-type'), 'application/json; charset=utf-8', accept);
    assert.deepEqual(await got.json(), PROOF);
  }
  assert.equal(timesMade, 0);
});

test('Vary names Accept where it decides, and only there', async () => {
  const always = 'Accept-Encoding, Authorization, X-API-Key, X-Tenant-Id';
  for (const accept of ['text/plain', 'application/json']) {
    assert.equal((await get({ Accept: accept })).headers.get('vary'), `${always}, Accept`);
  }
  const plain = await fetch(`${app.url}/health/live`, { headers: { Accept: 'text/plain' } });
  assert.equal(plain.headers.get('vary'), always);
  assert.equal(plain.headers.get('content-type'), 'application/json; charset=utf-8');
});

test('a long text is compressed for those who ask, bytes are not', async () => {
  const headers = { Accept: 'text/plain', 'Accept-Encoding': 'gzip' };
  text = () => 'a line\n'.repeat(1000);
  const got = await get(headers);
  assert.equal(got.headers.get('content-encoding'), 'gzip');
  assert.equal(await got.text(), text());
  text = () => Buffer.from('a line\n'.repeat(1000));
  const bytes = await get(headers);
  assert.equal(bytes.headers.get('content-encoding'), null);
  assert.equal(bytes.headers.get('content-type'), 'text/plain; charset=utf-8');
  assert.equal(bytes.headers.get('content-length'), '7000');
});

test('HEAD has the headers of the rendering', async () => {
  const head = await get({ Accept: 'text/plain' }, 'HEAD');
  assert.equal(head.headers.get('content-type'), 'text/plain; charset=utf-8');
  assert.equal(head.headers.get('content-length'), '27');
});

test('a rendering that cannot be made is answered as a failure of ours, in JSON', async () => {
  text = () => {
    throw new Error('no proof of that');
  };
  const got = await get({ Accept: 'text/plain' });
  assert.equal(got.status, 500);
  const { error } = (await got.json()) as { error: { code: string; message: string } };
  assert.equal(error.code, 'INTERNAL_ERROR');
  assert.doesNotMatch(error.message, /no proof/);
});
