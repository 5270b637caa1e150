// The receiver of the webhook guide in TypeScript, against the golden vectors and over a real connection. The same in other languages
// is in tests/outside.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it } from 'node:test';
import { receive, SeenDeliveries, verifyDelivery } from '../examples/webhooks/verify-delivery.ts';
import { signatureHeaders } from '../packages/server/src/webhooks/signature.ts';
import { goldenDeliveries, SENT_SECONDS } from './golden-deliveries.ts';
import { readText, repositoryFiles } from './source.ts';

const SECRET = 'correct horse battery staple';
const ID = '0f6a2d3c-5b1e-5c55-9d6e-0a1b2c3d4e5f';

describe('the receiver of the guide', () => {
  for (const { path, isValid, headers, body, secrets } of goldenDeliveries())
    it(`${isValid ? 'accepts' : 'refuses'} ${path}, with each of its secrets`, () => {
      for (const secret of secrets) {
        const verify = (seconds: number) => verifyDelivery(headers, body, secret, seconds * 1000);
        if (!isValid) assert.throws(() => verify(SENT_SECONDS));
        else {
          assert.equal(verify(SENT_SECONDS), headers['webhook-id']);
          assert.ok(verify(SENT_SECONDS + 300));
          assert.throws(() => verify(SENT_SECONDS + 301), /too old/);
          assert.throws(() => verify(SENT_SECONDS - 301), /too old/);
        }
      }
    });

  it('does its work once, again where it failed, and never for what is not genuine', async () => {
    const done: unknown[] = [];
    let failures = 1;
    const seen = new SeenDeliveries();
    const server = createServer((request, response) => {
      void receive(request, response, SECRET, seen, async (notification) => {
        if (failures-- > 0) throw new Error('the database is away');
        done.push(notification);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const body = '{"webhookType":"system.event"}';
    const headers = signatureHeaders(ID, Date.now(), Buffer.from(body), [SECRET]);
    const send = async (text: string) => (await fetch(url, { method: 'POST', headers, body: text })).status;
    const answers = [await send(body), await send(body), await send(body), await send(`${body} `)];
    server.closeAllConnections();
    server.close();
    assert.deepEqual(answers, [500, 204, 204, 400]);
    assert.deepEqual(done, [JSON.parse(body)]);
  });

  it('forgets the ids of yesterday', () => {
    const seen = new SeenDeliveries();
    const day = 24 * 3_600_000;
    seen.add('a', 0);
    seen.add('b', day);
    assert.deepEqual([seen.has('a'), seen.has('b')], [true, true]);
    seen.add('b', day + 1);
    assert.deepEqual([seen.has('a'), seen.has('b')], [false, true]);
  });
});

describe('docs/guides/webhooks.md', () => {
  it('shows the receivers as they are in examples/webhooks', () => {
    const guide = readText('docs/guides/webhooks.md');
    const receivers = repositoryFiles().filter((path) => path.startsWith('examples/webhooks/'));
    assert.equal(receivers.length, 4);
    for (const path of receivers) assert.ok(guide.includes(`\n${readText(path)}\`\`\`\n`), path);
  });
});
