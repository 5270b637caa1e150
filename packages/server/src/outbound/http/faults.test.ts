// What peers can do to a client, one script each: which fault it is, in which phase, and that it is over in time and holds nothing.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { TlsOptions } from 'node:tls';
import * as fc from 'fast-check';
import { systemClock } from '../../runtime/clock.ts';
import { type Authority, createAuthority } from '../../testing/certificates.ts';
import * as scripts from '../../testing/consumer-scripts.ts';
import { type Script, ScriptedConsumer } from '../../testing/scripted-consumer.ts';
import { until } from '../../testing/until.ts';
import { anyAddress } from './address-rules.ts';
import { createOutboundHttp } from './guarded-http.ts';
import { OutboundError, type OutboundFault, type OutboundPhase } from './outbound-error.ts';
import type { OutboundAnswer, OutboundRequest } from './outbound-http.ts';

const authority = createAuthority();
const BODY = '{"some":"notification"}';
/** Enough for a slow machine to answer, and short enough to be waited for. */
const TIMEOUT_MS = 400;

const clientFor = ({ certificate }: Authority = authority) =>
  createOutboundHttp({
    clock: systemClock,
    https: anyAddress,
    http: anyAddress,
    authorities: certificate,
    resolve: () => Promise.resolve(['127.0.0.1']),
  });

const outcomeOf = (sent: Promise<OutboundAnswer>) => sent.catch((error: unknown) => error as OutboundError);

async function meet(
  consumer: ScriptedConsumer,
  more: Partial<OutboundRequest> = {},
): Promise<OutboundAnswer | OutboundError> {
  using http = clientFor();
  const request = { url: consumer.url, method: 'POST', body: BODY, answerBytesMax: 65_536 } as const;
  const outcome = await outcomeOf(http.send({ ...request, timeoutMs: 60_000, ...more }));
  // The connection is gone, whatever the peer still does.
  if (outcome instanceof OutboundError) await until(() => consumer.open() === 0);
  return outcome;
}

type Fault = readonly [name: string, script: Script, fault: OutboundFault, phase: OutboundPhase];

const IN_TIME: readonly Fault[] = [
  ['closes at once', scripts.closesAtOnce, 'Reset', 'FirstByte'],
  ['closes when it has the request', scripts.closesAfterRequest, 'Reset', 'FirstByte'],
  ['resets when it has the request', scripts.resetsAfterRequest, 'Reset', 'FirstByte'],
  ['resets within the first line', scripts.resetsAfter(10), 'Reset', 'Body'],
  ['resets within the headers', scripts.resetsAfter(30), 'Reset', 'Body'],
  ['resets within the body', scripts.resetsAfter(scripts.OK.length - 1), 'Reset', 'Body'],
  ['ends its body early', scripts.closesInBody, 'Reset', 'Body'],
  ['answers with a megabyte of headers', scripts.hugeHeaders, 'TooLarge', 'Body'],
  ['answers with one header of a megabyte', scripts.hugeHeader, 'TooLarge', 'Body'],
  ['answers with ten gigabytes', scripts.tenGigabytes, 'TooLarge', 'Body'],
  ['answers with chunks without an end', scripts.endlessChunks, 'TooLarge', 'Body'],
  ['answers with a chunk extension without an end', scripts.endlessChunkExtension, 'TooLarge', 'Body'],
  ['answers with interim answers without an end', scripts.endlessInterim, 'TooLarge', 'Body'],
  ['speaks another protocol', scripts.speaksSmtp, 'Protocol', 'Body'],
  ['answers nonsense', scripts.answersNonsense, 'Protocol', 'Body'],
  ['announces two lengths', scripts.twoLengths, 'Protocol', 'Body'],
  ['breaks its chunks', scripts.badChunk, 'Protocol', 'Body'],
  ['changes the protocol unasked', scripts.unwantedUpgrade, 'Protocol', 'Body'],
];

const TOO_LATE: readonly Fault[] = [
  ['accepts and never reads', scripts.neverReads, 'Timeout', 'FirstByte'],
  ['reads and never answers', scripts.neverAnswers, 'Timeout', 'FirstByte'],
  ['answers when the time is over', scripts.answersAfter(TIMEOUT_MS + 200), 'Timeout', 'FirstByte'],
  ['stalls within its headers', scripts.stallsInHeaders, 'Timeout', 'Body'],
  ['stalls within its body', scripts.stallsInBody, 'Timeout', 'Body'],
  ['drips its headers', scripts.dripsHeaders(50), 'Timeout', 'Body'],
  ['drips its body', scripts.dripsBody(50), 'Timeout', 'Body'],
];

function isFault(outcome: OutboundAnswer | OutboundError, fault: OutboundFault, phase: OutboundPhase): void {
  assert.ok(outcome instanceof OutboundError, 'there was an answer');
  assert.deepEqual([outcome.fault, outcome.phase], [fault, phase], outcome.message);
  assert.match(outcome.message, /https?:\/\/[\w.]+:\d+/, 'the message says of whom it is');
}

function isAnswer(outcome: OutboundAnswer | OutboundError): asserts outcome is OutboundAnswer {
  if (outcome instanceof OutboundError) throw outcome;
}

describe('a peer that', () => {
  for (const [name, script, fault, phase] of IN_TIME) {
    it(`${name} is ${fault}`, async () => {
      await using consumer = await ScriptedConsumer.start(script);
      isFault(await meet(consumer), fault, phase);
    });
  }

  for (const [name, script, fault, phase] of TOO_LATE) {
    it(`${name} is ${fault}, in time`, async () => {
      await using consumer = await ScriptedConsumer.start(script);
      const outcome = await meet(consumer, { timeoutMs: TIMEOUT_MS });
      isFault(outcome, fault, phase);
      const { totalMs } = outcome.timings;
      // A timer may fire a little early.
      assert.ok(totalMs >= TIMEOUT_MS - 5, `${totalMs} ms`);
    });
  }

  it('resets at once is Reset, whether or not it had connected', async () => {
    await using consumer = await ScriptedConsumer.start(scripts.resetsAtOnce);
    const outcome = await meet(consumer);
    assert.ok(outcome instanceof OutboundError);
    isFault(outcome, 'Reset', outcome.phase);
  });

  it('reads nothing of a large request is Timeout, in time', async () => {
    await using consumer = await ScriptedConsumer.start(scripts.neverReads);
    const body = 'x'.repeat(16 * 1024 * 1024);
    isFault(await meet(consumer, { body, timeoutMs: TIMEOUT_MS }), 'Timeout', 'FirstByte');
  });

  it('bombs with gzip gets its ten kilobytes through, and nothing is decompressed', async () => {
    await using consumer = await ScriptedConsumer.start(scripts.gzipBomb);
    const outcome = await meet(consumer);
    isAnswer(outcome);
    assert.ok(outcome.body.length < 20_000);
    assert.deepEqual([...outcome.body.subarray(0, 2)], [0x1f, 0x8b]);
  });

  it('answers with more than the limit has its first bytes kept, where that is asked for, and no connection', async () => {
    for (const script of [scripts.tenGigabytes, scripts.endlessChunks]) {
      await using consumer = await ScriptedConsumer.start(script);
      const outcome = await meet(consumer, { overLimit: 'Cut' });
      isAnswer(outcome);
      assert.deepEqual([outcome.status, outcome.body.length, outcome.isCut], [200, 65_536, true]);
      await until(() => consumer.open() === 0);
    }
  });

  it('answers with just the limit is whole', async () => {
    await using consumer = await ScriptedConsumer.start(
      scripts.says(scripts.answer(200, {}, 'x'.repeat(65_536))),
    );
    const outcome = await meet(consumer, { overLimit: 'Cut' });
    isAnswer(outcome);
    assert.deepEqual([outcome.body.length, outcome.isCut], [65_536, false]);
  });

  it('closes a kept connection as the second request comes gets it again on a new one', async () => {
    await using consumer = await ScriptedConsumer.start(scripts.staleKeepAlive, scripts.accepts);
    using http = clientFor();
    const send = (body: string) =>
      http.send({ url: consumer.url, method: 'POST', body, answerBytesMax: 100, timeoutMs: 60_000 });
    assert.deepEqual([(await send('first')).status, (await send('second')).status], [200, 200]);
    assert.deepEqual(
      consumer.requests.map(({ body, connection }) => [body, connection]),
      [
        ['first', 0],
        ['second', 0],
        ['second', 1],
      ],
    );
  });

  it('closes every connection as a request comes gets it twice, and then it is Reset', async () => {
    await using consumer = await ScriptedConsumer.start(scripts.staleKeepAlive, scripts.resetsAfterRequest);
    using http = clientFor();
    const request = {
      url: consumer.url,
      method: 'POST',
      body: BODY,
      answerBytesMax: 100,
      timeoutMs: 60_000,
    } as const;
    await http.send(request);
    isFault(await outcomeOf(http.send(request)), 'Reset', 'FirstByte');
    assert.equal(consumer.requests.length, 3);
  });

  it('says more than it was asked for has it thrown away with the connection', async () => {
    await using consumer = await ScriptedConsumer.start(scripts.speaksUnasked, scripts.accepts);
    using http = clientFor();
    const request = { url: consumer.url, answerBytesMax: 100, timeoutMs: 60_000 };
    const answers = [await http.send(request), await http.send(request)];
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200],
    );
    assert.equal(consumer.connections, 2);
  });

  it('answers before it has read the request has answered', async () => {
    await using consumer = await ScriptedConsumer.start(scripts.answersEarly);
    const outcome = await meet(consumer, { body: 'x'.repeat(100_000) });
    isAnswer(outcome);
    assert.equal(outcome.status, 413);
  });

  it('mangles its answers in any way has answered, or is a fault; nothing hangs and nothing else is thrown', async () => {
    const sound = `HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n4\r\nsome\r\n0\r\n\r\n`;
    const change = fc.record({
      at: fc.nat(sound.length),
      gone: fc.nat(6),
      put: fc.oneof(
        fc.string({ maxLength: 8 }),
        fc.constantFrom('\r\n', '\0', 'content-length: 3\r\n', 'ffffffffff'),
      ),
    });
    const mangled = fc
      .array(change, { minLength: 1, maxLength: 4 })
      .map((changes) =>
        changes.reduce((text, { at, gone, put }) => text.slice(0, at) + put + text.slice(at + gone), sound),
      );
    let bytes = '';
    const script: Script = async (line) => {
      for (let request = await line.request(); request !== undefined; request = await line.request()) {
        await line.write(bytes);
        line.close();
      }
    };
    await using consumer = await ScriptedConsumer.start(script);
    using http = clientFor();
    const faults = new Set<string>();
    await fc.assert(
      fc.asyncProperty(mangled, async (text) => {
        bytes = text;
        const request = { url: consumer.url, answerBytesMax: 1000, timeoutMs: 2000 };
        const outcome = await outcomeOf(http.send(request));
        assert.ok(outcome instanceof OutboundError || outcome.status >= 100, text);
        faults.add(outcome instanceof OutboundError ? outcome.fault : 'none');
      }),
      { numRuns: 400 },
    );
    assert.ok(faults.has('Protocol') && faults.has('none'), [...faults].join());
  });

  it('is behind a name is named by it alone: no address that the name leads to is in a message', async () => {
    using http = clientFor();
    await using reset = await ScriptedConsumer.start(scripts.resetsAfterRequest);
    await using hangs = await ScriptedConsumer.start(scripts.neverAnswers);
    for (const [url, fault] of [
      ['http://consumer.example:1/', 'Connect'],
      [`http://consumer.example:${reset.port}/`, 'Reset'],
      [`https://consumer.example:${hangs.port}/`, 'Timeout'],
      [`http://consumer.example:${hangs.port}/`, 'Timeout'],
    ] as const) {
      const outcome = await outcomeOf(http.send({ url, answerBytesMax: 100, timeoutMs: TIMEOUT_MS }));
      assert.ok(outcome instanceof OutboundError);
      assert.equal(outcome.fault, fault, outcome.message);
      assert.match(outcome.message, /consumer\.example/);
      assert.doesNotMatch(outcome.message, /127\.0|::1/);
    }
  });

  it('sends interim answers first has answered', async () => {
    await using consumer = await ScriptedConsumer.start(scripts.interimFirst);
    const outcome = await meet(consumer);
    isAnswer(outcome);
    assert.deepEqual([outcome.status, outcome.body.toString()], [200, 'ok']);
  });

  it('ends its body with the connection has answered', async () => {
    await using consumer = await ScriptedConsumer.start(scripts.endsWithConnection);
    const outcome = await meet(consumer);
    isAnswer(outcome);
    assert.equal(Buffer.from(outcome.body).toString(), 'all of it');
  });

  it('redirects, is gone or wants a pause has answered, and is followed nowhere', async () => {
    for (const [script, status] of [
      [scripts.redirectLoop, 308],
      [scripts.gone, 410],
      [scripts.retryAfter('120'), 503],
      [scripts.retryAfter('7', 429), 429],
    ] as const) {
      await using consumer = await ScriptedConsumer.start(script);
      const outcome = await meet(consumer);
      isAnswer(outcome);
      assert.equal(outcome.status, status);
      assert.equal(consumer.requests.length, 1);
    }
  });
});

it('many peers of all kinds at the same time leave nothing behind, and hold up no sound one', async () => {
  const consumers = await Promise.all(
    [...IN_TIME, ...TOO_LATE].map(([, script]) => ScriptedConsumer.start(script)),
  );
  await using sound = await ScriptedConsumer.start(scripts.accepts);
  using http = clientFor();
  const bad = consumers.flatMap(({ url }) =>
    Array.from({ length: 10 }, () =>
      outcomeOf(http.send({ url, method: 'POST', body: BODY, answerBytesMax: 1000, timeoutMs: TIMEOUT_MS })),
    ),
  );
  for (let i = 0; i < 50; i++) {
    assert.equal((await http.send({ url: sound.url, answerBytesMax: 1000, timeoutMs: 60_000 })).status, 200);
  }
  assert.equal(sound.connections, 1);
  for (const outcome of await Promise.all(bad)) assert.ok(outcome instanceof OutboundError);
  await until(() => consumers.every((each) => each.open() === 0));
  for (const each of consumers) await each[Symbol.asyncDispose]();
});

describe('over TLS, a peer that', () => {
  const server = authority.issue({ hosts: ['consumer.example', '127.0.0.1'] });
  const tls = ({ certificate, key }: typeof server, more: TlsOptions = {}) => ({
    cert: certificate,
    key,
    ...more,
  });
  const NOW = Date.now();
  const DAY_MS = 86_400_000;

  it('has a certificate of the authority for its name, or for its address, is answered by', async () => {
    await using consumer = await ScriptedConsumer.with({ scripts: [scripts.accepts], tls: tls(server) });
    for (const url of [consumer.url, `https://consumer.example:${consumer.port}`]) {
      const outcome = await meet(consumer, { url });
      isAnswer(outcome);
      assert.equal(outcome.status, 200);
    }
  });

  const refused: readonly (readonly [string, TlsOptions, RegExp])[] = [
    [
      'has a certificate for another name',
      tls(authority.issue({ hosts: ['other.example'] })),
      /for another name/,
    ],
    [
      'has a certificate that has expired',
      tls(authority.issue({ hosts: ['127.0.0.1'], notAfter: new Date(NOW - DAY_MS) })),
      /has expired/,
    ],
    [
      'has a certificate of tomorrow',
      tls(authority.issue({ hosts: ['127.0.0.1'], notBefore: new Date(NOW + DAY_MS) })),
      /not valid yet/,
    ],
    [
      'has a certificate of another authority',
      tls(createAuthority('Another').issue({ hosts: ['127.0.0.1'] })),
      /not trusted/,
    ],
    [
      'speaks TLS 1.1 at most',
      tls(server, { minVersion: 'TLSv1', maxVersion: 'TLSv1.1' }),
      /does not agree on TLS/,
    ],
  ];
  for (const [name, options, message] of refused) {
    it(`${name} is Tls`, async () => {
      await using consumer = await ScriptedConsumer.with({ scripts: [scripts.accepts], tls: options });
      const outcome = await meet(consumer);
      isFault(outcome, 'Tls', 'Tls');
      assert.match((outcome as OutboundError).message, message);
      assert.equal(consumer.requests.length, 0);
    });
  }

  it('speaks no TLS is Tls, and one that stalls in it is Timeout', async () => {
    const bare = { tls: tls(server), isBare: true };
    await using plain = await ScriptedConsumer.with({ ...bare, scripts: [scripts.speaksSmtp] });
    isFault(await meet(plain), 'Tls', 'Tls');
    await using stalls = await ScriptedConsumer.with({ ...bare, scripts: [scripts.neverReads] });
    isFault(await meet(stalls, { timeoutMs: TIMEOUT_MS }), 'Timeout', 'Tls');
    await using closes = await ScriptedConsumer.with({ ...bare, scripts: [scripts.closesAtOnce] });
    isFault(await meet(closes), 'Reset', 'Tls');
  });

  it('hangs, resets or closes after that is what it is without TLS', async () => {
    for (const [, script, fault, phase] of [...IN_TIME, ...TOO_LATE]) {
      await using consumer = await ScriptedConsumer.with({ scripts: [script], tls: tls(server) });
      isFault(await meet(consumer, { timeoutMs: fault === 'Timeout' ? TIMEOUT_MS : 60_000 }), fault, phase);
    }
  });

  it('closes a kept connection as the second request comes gets it again on a new one', async () => {
    await using consumer = await ScriptedConsumer.with({
      scripts: [scripts.staleKeepAlive, scripts.accepts],
      tls: tls(server),
    });
    using http = clientFor();
    const request = {
      url: consumer.url,
      method: 'POST',
      body: BODY,
      answerBytesMax: 100,
      timeoutMs: 60_000,
    } as const;
    assert.equal((await http.send(request)).status, 200);
    const { status, timings } = await http.send(request);
    assert.equal(status, 200);
    assert.ok(
      timings.tlsMs !== undefined && timings.connectMs !== undefined && timings.firstByteMs !== undefined,
    );
  });
});
