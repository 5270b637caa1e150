// Names looked up with a real name server on loopback.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { systemClock } from '../../runtime/clock.ts';
import { accepts } from '../../testing/consumer-scripts.ts';
import { NameServer } from '../../testing/name-server.ts';
import { ScriptedConsumer } from '../../testing/scripted-consumer.ts';
import { loopbackOnly, noAddress, publicOnly } from './address-rules.ts';
import { createDnsResolve } from './dns-resolve.ts';
import { createOutboundHttp } from './guarded-http.ts';

const folder = mkdtempSync(join(tmpdir(), 'hosts-'));
after(() => rmSync(folder, { recursive: true }));
const hostsFile = join(folder, 'hosts');
writeFileSync(
  hostsFile,
  '# ours\n192.0.2.7 known.example other.example # and\n2001:db8::7\tKNOWN.example\nnonsense here\n',
);

const resolveBy = ({ address }: NameServer, timeoutMs = 10_000) =>
  createDnsResolve({ clock: systemClock, servers: [address], hostsFile, timeoutMs });

describe('a name', () => {
  it('leads to its addresses of both families, and to those of one where there are no others', async () => {
    await using server = await NameServer.start({
      'both.example': { addresses: ['192.0.2.1', '2001:db8::1', '192.0.2.2'] },
      'old.example': { addresses: ['192.0.2.1'] },
      'new.example': { addresses: ['2001:db8::1'] },
    });
    const resolve = resolveBy(server);
    assert.deepEqual(await resolve('both.example'), ['192.0.2.1', '192.0.2.2', '2001:db8::1']);
    assert.deepEqual(await resolve('old.example'), ['192.0.2.1']);
    assert.deepEqual(await resolve('new.example'), ['2001:db8::1']);
  });

  it('that is not there, has no address, or whose server fails is an error that says which', async () => {
    await using server = await NameServer.start({
      'empty.example': { addresses: [] },
      'broken.example': { addresses: [], fails: true },
    });
    const resolve = resolveBy(server);
    await assert.rejects(resolve('nobody.example'), { code: 'ENOTFOUND' });
    await assert.rejects(resolve('empty.example'), { code: 'ENODATA' });
    await assert.rejects(resolve('broken.example'), { code: 'ESERVFAIL' });
  });

  it('whose server is silent is given up in time, and holds no other back', async () => {
    await using server = await NameServer.start({
      'silent.example': { addresses: [], isSilent: true },
      'quick.example': { addresses: ['192.0.2.1'] },
    });
    const resolve = resolveBy(server, 600);
    const silent = Array.from({ length: 20 }, () =>
      assert.rejects(resolve('silent.example'), { code: 'ECANCELLED' }),
    );
    assert.deepEqual(await resolve('quick.example'), ['192.0.2.1']);
    await Promise.all(silent);
    const asked = server.questions.filter((question) => question === 'silent.example A');
    assert.equal(asked.length, 1, 'those that ask at the same time share one question');
  });

  it('does not wait for ever for a family of addresses that nobody answers for', async () => {
    await using server = await NameServer.start({
      'half.example': { addresses: ['192.0.2.1', '2001:db8::1'], delayMs: { AAAA: 60_000 } },
    });
    assert.deepEqual(await resolveBy(server, 60_000)('half.example'), ['192.0.2.1']);
  });

  it('is looked for in the hosts file first, and localhost is never asked for', async () => {
    await using server = await NameServer.start({ 'known.example': { addresses: ['192.0.2.99'] } });
    const resolve = resolveBy(server);
    assert.deepEqual(await resolve('known.example'), ['192.0.2.7', '2001:db8::7']);
    assert.deepEqual(await resolve('other.example'), ['192.0.2.7']);
    for (const name of ['localhost', 'a.localhost'])
      assert.deepEqual(await resolve(name), ['127.0.0.1', '::1']);
    assert.deepEqual(server.questions, []);
    const without = createDnsResolve({
      clock: systemClock,
      servers: [server.address],
      hostsFile: join(folder, 'none'),
    });
    assert.deepEqual(await without('known.example'), ['192.0.2.99'], 'control');
  });
});

describe('a client with names', () => {
  it('asks no second time: a name that changes its address between judging and connecting leads nowhere else', async () => {
    await using consumer = await ScriptedConsumer.start(accepts);
    await using server = await NameServer.start({ 'rebinds.example': { addresses: ['127.0.0.1'] } });
    const resolve = resolveBy(server);
    const request = {
      url: `http://rebinds.example:${consumer.port}/`,
      answerBytesMax: 100,
      timeoutMs: 60_000,
    };
    using local = createOutboundHttp({ clock: systemClock, https: noAddress, http: loopbackOnly, resolve });
    await local.send(request);
    assert.deepEqual(server.questions.toSorted(), ['rebinds.example A', 'rebinds.example AAAA']);

    server.names.set('rebinds.example', { addresses: ['93.184.216.34', '127.0.0.1'] });
    using guarded = createOutboundHttp({ clock: systemClock, https: publicOnly, http: publicOnly, resolve });
    await assert.rejects(guarded.send(request), (error: Error & { fault?: string; phase?: string }) => {
      assert.deepEqual([error.fault, error.phase], ['NotAllowed', 'Dns']);
      assert.match(error.message, /^rebinds\.example leads to an address that is not public/);
      assert.doesNotMatch(error.message, /127|93\.184/);
      return true;
    });
    assert.match((await guarded.judge(request.url)) ?? '', /leads to an address that is not public/);
    assert.equal(consumer.connections, 1);
  });

  it('tries the next address where one leads nowhere', async () => {
    await using consumer = await ScriptedConsumer.start(accepts);
    await using server = await NameServer.start({
      'two.example': { addresses: ['127.0.0.2', '127.0.0.1', '::1'] },
    });
    using http = createOutboundHttp({
      clock: systemClock,
      https: noAddress,
      http: loopbackOnly,
      resolve: resolveBy(server),
    });
    const url = `http://two.example:${consumer.port}/`;
    const { status, timings } = await http.send({ url, answerBytesMax: 100, timeoutMs: 60_000 });
    assert.equal(status, 200);
    assert.ok(timings.dnsMs !== undefined && timings.connectMs !== undefined && timings.tlsMs === undefined);
  });

  it('says that a name server is silent in time, as Dns', async () => {
    await using server = await NameServer.start({ 'silent.example': { addresses: [], isSilent: true } });
    using http = createOutboundHttp({
      clock: systemClock,
      https: noAddress,
      http: loopbackOnly,
      resolve: resolveBy(server, 300),
    });
    const request = { url: 'http://silent.example/', answerBytesMax: 100, timeoutMs: 60_000 };
    await assert.rejects(http.send(request), { fault: 'Dns', phase: 'Dns' });
    await assert.rejects(http.send({ ...request, timeoutMs: 100 }), { fault: 'Timeout', phase: 'Dns' });
    assert.equal(await http.judge(request.url), undefined, 'it may resolve later');
  });
});
