// The client through a real forward proxy.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { systemClock } from '../../runtime/clock.ts';
import { createAuthority } from '../../testing/certificates.ts';
import { accepts, neverReads, speaksSmtp } from '../../testing/consumer-scripts.ts';
import { ForwardProxy } from '../../testing/forward-proxy.ts';
import { ScriptedConsumer } from '../../testing/scripted-consumer.ts';
import { anyAddress, publicOnly } from './address-rules.ts';
import { createOutboundHttp, type OutboundHttpOptions } from './guarded-http.ts';
import { peerIsToBlame } from './outbound-error.ts';
import type { OutboundHttp } from './outbound-http.ts';

const authority = createAuthority();
const server = authority.issue({ hosts: ['consumer.example', '127.0.0.1'] });

const clientBy = (proxy: string, more: Partial<OutboundHttpOptions> = {}) =>
  createOutboundHttp({
    clock: systemClock,
    https: anyAddress,
    http: anyAddress,
    authorities: authority.certificate,
    resolve: () => Promise.resolve(['127.0.0.1']),
    proxy,
    ...more,
  });
const ask = (http: OutboundHttp, url: string, timeoutMs = 60_000) =>
  http.send({ url, method: 'POST', body: 'x', answerBytesMax: 100, timeoutMs });

describe('through a forward proxy', () => {
  it('a request reaches its peer, over http and over TLS, by the address that was judged, and keeps the tunnel', async () => {
    for (const [scheme, tls] of [
      ['http', undefined],
      ['https', { cert: server.certificate, key: server.key }],
    ] as const) {
      for (const ofProxy of [undefined, server]) {
        await using consumer = await ScriptedConsumer.with({ scripts: [accepts], ...(tls && { tls }) });
        await using proxy = await ForwardProxy.start(ofProxy && { tls: ofProxy });
        using http = clientBy(proxy.url());
        const url = `${scheme}://consumer.example:${consumer.port}/hook`;
        for (let i = 0; i < 3; i++) assert.equal((await ask(http, url)).status, 200);
        assert.deepEqual(proxy.asked, [{ to: `127.0.0.1:${consumer.port}`, authorization: undefined }]);
        assert.equal(consumer.requests[0]!.headers['host'], `consumer.example:${consumer.port}`);
      }
    }
  });

  it('credentials of its address are sent to it, and nothing of them to the peer', async () => {
    await using consumer = await ScriptedConsumer.start(accepts);
    await using proxy = await ForwardProxy.start();
    using http = clientBy(proxy.url('me:p%40ss'));
    await ask(http, consumer.url);
    const [asked] = proxy.asked;
    assert.equal(asked!.authorization, `Basic ${Buffer.from('me:p@ss').toString('base64')}`);
    assert.equal(consumer.requests[0]!.headers['proxy-authorization'], undefined);
  });

  it('an address that must not be connected to is refused all the same, though the proxy itself has one', async () => {
    await using proxy = await ForwardProxy.start();
    using http = clientBy(proxy.url(), { https: publicOnly, http: publicOnly });
    await assert.rejects(ask(http, 'http://consumer.example/'), { fault: 'NotAllowed', phase: 'Dns' });
    await assert.rejects(ask(http, 'http://127.0.0.1/'), { fault: 'NotAllowed' });
    assert.deepEqual(proxy.asked, []);
  });

  it('a proxy that refuses, is not there, hangs or is none is Proxy, for which no peer is to blame', async () => {
    await using consumer = await ScriptedConsumer.start(accepts);
    await using strict = await ForwardProxy.start({ refuses: 407 });
    await using none = await ScriptedConsumer.start(speaksSmtp);
    for (const [url, message] of [
      [strict.url('me:hunter2'), /refuses: it answers 407/],
      ['http://127.0.0.1:1', /cannot be reached/],
      [none.url, /gave no answer/],
      [none.url.replace('http:', 'https:'), /cannot be reached/],
    ] as const) {
      using http = clientBy(url);
      await assert.rejects(ask(http, consumer.url), (error: Error & { fault: 'Proxy' }) => {
        assert.equal(error.fault, 'Proxy');
        assert.equal(peerIsToBlame(error.fault), false);
        assert.match(error.message, message);
        assert.doesNotMatch(error.message, /hunter2|127\.0\.0\.1/);
        return true;
      });
    }
    await using hangs = await ScriptedConsumer.with({
      scripts: [neverReads],
      tls: { cert: server.certificate, key: server.key },
      isBare: true,
    });
    using http = clientBy(hangs.url);
    await assert.rejects(ask(http, consumer.url, 200), { fault: 'Proxy', phase: 'Connect' });
    assert.equal(consumer.connections, 0);
  });

  it('a peer that the proxy does not reach is Connect, and one that hangs behind it Timeout', async () => {
    await using proxy = await ForwardProxy.start();
    using http = clientBy(proxy.url());
    await assert.rejects(ask(http, 'http://127.0.0.1:1/'), { fault: 'Connect', phase: 'Connect' });
    await using hangs = await ScriptedConsumer.start(neverReads);
    await assert.rejects(ask(http, hangs.url, 200), { fault: 'Timeout', phase: 'FirstByte' });
  });

  it('a peer over TLS is verified', async () => {
    const stranger = createAuthority('Stranger').issue({ hosts: ['127.0.0.1'] });
    await using consumer = await ScriptedConsumer.with({
      scripts: [accepts],
      tls: { cert: stranger.certificate, key: stranger.key },
    });
    await using proxy = await ForwardProxy.start();
    using http = clientBy(proxy.url());
    await assert.rejects(ask(http, consumer.url), { fault: 'Tls', phase: 'Tls' });
  });
});
