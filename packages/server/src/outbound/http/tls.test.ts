// TLS material of a request's own: by whom the peer is verified, who we are to it, and whose connections are shared.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { systemClock } from '../../runtime/clock.ts';
import { createAuthority } from '../../testing/certificates.ts';
import { accepts } from '../../testing/consumer-scripts.ts';
import { createFakeClock } from '../../testing/fake-clock.ts';
import { ScriptedConsumer, type Script } from '../../testing/scripted-consumer.ts';
import { anyAddress, noAddress } from './address-rules.ts';
import { createOutboundHttp } from './guarded-http.ts';
import type { OutboundHttp } from './outbound-http.ts';
import { nameOfMaterial, TlsContexts, type TlsMaterial } from './tls-contexts.ts';

const authority = createAuthority();
const clients = createAuthority('Clients');
const server = authority.issue({ hosts: ['127.0.0.1'] });
const client = clients.issue({ hosts: ['tallystick'] });
const ca = authority.certificate;

const consumerWith = (more: object, ...scripts: readonly Script[]) =>
  ScriptedConsumer.with({
    scripts: scripts.length === 0 ? [accepts] : scripts,
    tls: { cert: server.certificate, key: server.key, ...more },
  });
const wanting = { requestCert: true, rejectUnauthorized: true, ca: clients.certificate };
const newClient = () => createOutboundHttp({ clock: systemClock, https: anyAddress, http: noAddress });
const ask = async (http: OutboundHttp, url: string, tls?: TlsMaterial) =>
  (await http.send({ url, answerBytesMax: 100, timeoutMs: 60_000, ...(tls && { tls }) })).status;

describe('a request with TLS material of its own', () => {
  it('trusts the authorities that it brings, and without them those of the system', async () => {
    await using consumer = await consumerWith({});
    using http = newClient();
    assert.equal(await ask(http, consumer.url, { ca }), 200);
    const stranger = createAuthority('Stranger').certificate;
    await assert.rejects(ask(http, consumer.url, { ca: stranger }), { fault: 'Tls', phase: 'Tls' });
    await assert.rejects(ask(http, consumer.url), { fault: 'Tls', phase: 'Tls' });
  });

  it('proves who we are to a peer that asks; without a certificate it is Tls, and with another one there is no answer', async () => {
    for (const maxVersion of ['TLSv1.2', 'TLSv1.3']) {
      await using consumer = await consumerWith({ ...wanting, maxVersion });
      using http = newClient();
      assert.equal(await ask(http, consumer.url, { ca, ...client }), 200, maxVersion);
      await assert.rejects(ask(http, consumer.url, { ca }), { fault: 'Tls' }, maxVersion);
      const other = createAuthority('Other').issue({ hosts: ['tallystick'] });
      // Node's server closes the connection where others send an alert.
      await assert.rejects(ask(http, consumer.url, { ca, ...other }), { fault: /^(Tls|Reset)$/ }, maxVersion);
      assert.equal(consumer.requests.length, 1);
    }
  });

  it('shares its connection with requests that bring the same, and with no others', async () => {
    await using consumer = await consumerWith({});
    using http = newClient();
    const another = clients.issue({ hosts: ['another'] });
    for (const tls of [{ ca }, { ca }, { ca, ...client }, { ca, ...another }, { ...client, ca }, { ca }])
      assert.equal(await ask(http, consumer.url, tls), 200);
    assert.deepEqual(
      consumer.requests.map(({ connection }) => connection),
      [0, 0, 1, 2, 1, 0],
    );
  });

  it('that cannot be used is Tls, and nobody is connected to', async () => {
    await using consumer = await consumerWith({});
    using http = newClient();
    await assert.rejects(ask(http, consumer.url, { ca, certificate: 'nonsense', key: client.key }), {
      fault: 'Tls',
      message: 'the certificates or the key for this connection cannot be used',
    });
    assert.equal(consumer.connections, 0);
  });
});

describe('what TLS connections are made with', () => {
  it('is kept for its next use, in bounds, and dropped when it is not used', async () => {
    const clock = createFakeClock();
    const contexts = new TlsContexts(clock);
    const named = (i: number) => contexts.for(`peer ${i}`, { ca });
    const first = named(0);
    assert.equal(named(0), first);
    for (let i = 1; i < 250; i++) named(i);
    assert.equal(contexts.size, 200);
    assert.notEqual(named(0), first, 'the one that was not used for longest is gone');
    await clock.advance(700_000);
    named(1000);
    assert.equal(contexts.size, 1);
  });

  it('is told apart by each of its parts', () => {
    const names = [
      undefined,
      {},
      { ca: 'a' },
      { certificate: 'a' },
      { key: 'a' },
      { ca: 'a', key: 'a' },
      { ca: 'aa' },
    ].map((material) => nameOfMaterial(material));
    assert.equal(new Set(names).size, names.length);
    assert.equal(nameOfMaterial({ ca: 'a', key: 'b' }), nameOfMaterial({ key: 'b', ca: 'a' }));
  });
});
