// Slots, by requests to consumers that do not answer until they are told to.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { systemClock } from '../../runtime/clock.ts';
import { accepts, neverAnswers, OK } from '../../testing/consumer-scripts.ts';
import { type Script, ScriptedConsumer } from '../../testing/scripted-consumer.ts';
import { until } from '../../testing/until.ts';
import { anyAddress } from './address-rules.ts';
import { createOutboundHttp } from './guarded-http.ts';
import { OutboundError, peerIsToBlame } from './outbound-error.ts';
import type { OutboundHttp, OutboundRequest } from './outbound-http.ts';
import type { SlotLimits } from './slots.ts';

const clientWith = (limits: Partial<SlotLimits>) =>
  createOutboundHttp({ clock: systemClock, https: anyAddress, http: anyAddress, limits });

const ask = (
  http: OutboundHttp,
  url: string,
  more: Pick<OutboundRequest, 'signal' | 'party'> & { timeoutMs?: number } = {},
) => http.send({ url, answerBytesMax: 1000, timeoutMs: 60_000, ...more });

/** Answers when its gate opens. */
function gated() {
  const { promise, resolve } = Promise.withResolvers<void>();
  const script: Script = async (line) => {
    while ((await line.request()) !== undefined) {
      await promise;
      await line.write(OK);
    }
  };
  return { script, open: resolve };
}

describe('slots', () => {
  it('of an origin are no more than its share; others are not held back by it', async () => {
    const gate = gated();
    await using slow = await ScriptedConsumer.start(gate.script);
    await using quick = await ScriptedConsumer.start(accepts);
    using http = clientWith({ slotsMax: 10, slotsPerOriginMax: 2, waitMs: 60_000 });
    const held = Array.from({ length: 6 }, () => ask(http, slow.url));
    await until(() => slow.requests.length === 2);
    for (let i = 0; i < 5; i++) assert.equal((await ask(http, quick.url)).status, 200);
    assert.equal(slow.requests.length, 2, 'the others wait');
    gate.open();
    const answers = await Promise.all(held);
    assert.deepEqual([answers.length, slow.requests.length, slow.connections], [6, 6, 2]);
  });

  it('of an origin are a share for each party: one that holds all of its own keeps no other waiting', async () => {
    const gate = gated();
    await using shared = await ScriptedConsumer.start(gate.script, gate.script, accepts);
    using http = clientWith({ slotsMax: 10, slotsPerOriginMax: 2, waitMs: 60_000 });
    const held = Array.from({ length: 6 }, () => ask(http, shared.url, { party: 'slow' }));
    await until(() => shared.requests.length === 2);
    assert.equal((await ask(http, shared.url, { party: 'quick' })).status, 200);
    assert.equal(shared.requests.length, 3, 'the others wait');
    gate.open();
    await Promise.all(held);
  });

  it('in all are bounded too, and go to origins in turn', async () => {
    const gate = gated();
    await using a = await ScriptedConsumer.start(gate.script);
    await using b = await ScriptedConsumer.start(accepts);
    using http = clientWith({ slotsMax: 1, slotsPerOriginMax: 1, waitMs: 60_000 });
    const done: string[] = [];
    const noted = (name: string, url: string) => ask(http, url).then(() => done.push(name));
    const sent = [noted('a', a.url)];
    await until(() => a.requests.length === 1);
    sent.push(...[1, 2, 3].map(() => noted('a', a.url)), noted('b', b.url));
    gate.open();
    await Promise.all(sent);
    assert.ok(done.indexOf('b') <= 2, `b does not wait for all of a: ${done.join(' ')}`);
  });

  it('that do not become free in time are Busy, which is no fault of the peer, and waiting is no time of it', async () => {
    await using hangs = await ScriptedConsumer.start(neverAnswers);
    using http = clientWith({ slotsPerOriginMax: 1, waitMs: 100 });
    const stop = new AbortController();
    const first = ask(http, hangs.url, { signal: stop.signal }).catch(() => {});
    await until(() => hangs.requests.length === 1);
    const error = await ask(http, hangs.url).catch((thrown: unknown) => thrown);
    assert.ok(error instanceof OutboundError);
    assert.deepEqual([error.fault, error.phase, peerIsToBlame(error.fault)], ['Busy', 'Wait', false]);
    assert.match(error.message, /was not asked: no slot was free within 100 ms/);
    assert.ok(error.timings.waitMs >= 95 && error.timings.totalMs === 0, JSON.stringify(error.timings));
    stop.abort(new Error('enough'));
    await first;
  });

  it('are given back by whoever fails, gives up or stops waiting', async () => {
    await using hangs = await ScriptedConsumer.start(neverAnswers, neverAnswers, accepts);
    using http = clientWith({ slotsPerOriginMax: 1, waitMs: 60_000 });
    const stop = new AbortController();
    const late = assert.rejects(ask(http, hangs.url, { timeoutMs: 300 }), { fault: 'Timeout' });
    const waits = assert.rejects(ask(http, hangs.url, { signal: stop.signal }), /enough/);
    stop.abort(new Error('enough'));
    await waits;
    await late;
    const again = new AbortController();
    const second = assert.rejects(ask(http, hangs.url, { signal: again.signal }), /again/);
    await until(() => hangs.requests.length === 2);
    again.abort(new Error('again'));
    await second;
    assert.equal((await ask(http, hangs.url)).status, 200);
  });

  it('bound the connections that rest as well: the oldest ones close', async () => {
    const consumers = await Promise.all([1, 2, 3, 4].map(() => ScriptedConsumer.start(accepts)));
    using http = clientWith({ slotsMax: 2 });
    for (const { url } of consumers) await ask(http, url);
    const open = () => consumers.map((each) => each.open());
    await until(() => open().reduce((sum, count) => sum + count) <= 2);
    assert.deepEqual(open(), [0, 0, 1, 1]);
    for (const each of consumers) await each[Symbol.asyncDispose]();
  });
});
