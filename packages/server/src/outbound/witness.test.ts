import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, describe, it } from 'node:test';
import {
  type Cosigner,
  cosigner,
  leafHash,
  nodeHash,
  noteSigner,
  parseAddCheckpoint,
  parseNote,
  parsePolicy,
  proveConsistency,
  sha256,
  signatureLine,
  signCheckpoint,
  treeRoot,
  verifyByPolicy,
} from '@tallystick/evidence';
import { type Clock, systemClock, type Timer, wait } from '../runtime/clock.ts';
import { anyAddress, loopbackOnly } from './http/address-rules.ts';
import { createOutboundHttp } from './http/guarded-http.ts';
import { isAlarm, type WitnessResponses } from '../streams/witness/ask-witnesses.ts';
import { collectCosignatures, type CollectOptions } from './witness.ts';

const httpWith = (clock: Clock) => createOutboundHttp({ clock, https: anyAddress, http: loopbackOnly });
const http = httpWith(systemClock);
after(() => http[Symbol.dispose]());

const ORIGIN = 'audit.example.com/t/acme';
const TIME = 1767323046;
const utf8 = (text: string) => new TextEncoder().encode(text);
const signer = await noteSigner(ORIGIN, sha256(utf8('log')));
const read = (level: number, index: number): Uint8Array =>
  level === 0
    ? leafHash(utf8(String(index)))
    : nodeHash(read(level - 1, 2 * index), read(level - 1, 2 * index + 1));
const noteOf = (size: number) =>
  signCheckpoint({ origin: ORIGIN, size, root: treeRoot(size, read) }, [signer]);
const note = await noteOf(9);
const proveTo = (size: number) => async (oldSize: number) => proveConsistency(oldSize, size, read);

type Script = (body: string, response: ServerResponse, key: Cosigner) => Promise<void> | void;

interface Scripted extends AsyncDisposable {
  readonly url: string;
  readonly key: Cosigner;
  /** The old size of each request. */
  readonly asked: number[];
}

/** A witness that answers by a script, over real HTTP. */
async function scripted(name: string, script: Script): Promise<Scripted> {
  const key = await cosigner(`${name}.example/w`, sha256(utf8(name)));
  const asked: number[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    let body = '';
    for await (const chunk of request.setEncoding('utf8') as AsyncIterable<string>) body += chunk;
    asked.push(parseAddCheckpoint(body).oldSize);
    await script(body, response, key);
  };
  const server = createServer((request, response) => void answer(request, response)).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    key,
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const reply = (status: number, body: string, type = 'text/plain'): Script => {
  return (_, response) => void response.writeHead(status, { 'content-type': type }).end(body);
};
const sizeReply = (size: number) => reply(409, `${size}\n`, 'text/x.tlog.size');
const cosigns: Script = async (body, response, key) => {
  const { text } = parseNote(parseAddCheckpoint(body).note);
  response.end(signatureLine(await key.cosign(text, TIME)));
};
const silent: Script = () => {};
/** Has cosigned up to that size, and cosigns from there. */
const has =
  (size: number): Script =>
  (body, response, key) =>
    parseAddCheckpoint(body).oldSize === size
      ? cosigns(body, response, key)
      : sizeReply(size)(body, response, key);

async function collect(
  scripts: Readonly<Record<string, Script>>,
  { quorum = 'any', ...more }: Partial<CollectOptions> & { quorum?: string } = {},
): Promise<WitnessResponses & { asked: number[][] }> {
  await using stack = new AsyncDisposableStack();
  const witnesses: Scripted[] = [];
  for (const [name, script] of Object.entries(scripts))
    witnesses.push(stack.use(await scripted(name, script)));
  const names = Object.keys(scripts);
  const lines = witnesses.map(({ key, url }, i) => `witness ${names[i]} ${key.verifierKey} ${url}\n`);
  const policy = await parsePolicy(
    `log ${signer.verifierKey}\n${lines.join('')}group all ${quorum} ${names.join(' ')}\nquorum all\n`,
  );
  const collected = await collectCosignatures({
    note,
    prove: proveTo(9),
    policy,
    http,
    clock: systemClock,
    ...more,
  });
  if (collected.isQuorum) await verifyByPolicy(policy, collected.note);
  return { ...collected, asked: witnesses.map(({ asked }) => asked) };
}

/** A timer that runs a second after something else. */
function afterwards(before: Promise<void>, run: () => void): Timer {
  let isCancelled = false;
  void before.then(() =>
    systemClock.after(1000, () => {
      if (!isCancelled) run();
    }),
  );
  return { cancel: () => void (isCancelled = true) };
}

describe('collecting cosignatures', { concurrency: 4 }, () => {
  it('adds the cosignatures of all, in the order of their names, not of their answers', async () => {
    const slowly: Script = async (...args) => {
      await wait(systemClock, 100);
      await cosigns(...args);
    };
    const { note: cosigned, isQuorum, reports } = await collect({ a: slowly, b: cosigns }, { quorum: 'all' });
    assert.deepEqual(
      parseNote(cosigned).signatures.map(({ name }) => name),
      [ORIGIN, 'a.example/w', 'b.example/w'],
    );
    assert.deepEqual([isQuorum, reports.filter(isAlarm)], [true, []]);
    assert.deepEqual(reports, [
      { witness: 'a', outcome: 'Cosigned', message: 'cosigned', timeSeconds: TIME },
      { witness: 'b', outcome: 'Cosigned', message: 'cosigned', timeSeconds: TIME },
    ]);
  });

  it('asks again, once, from the size that the witness says it has, with the proof from there', async () => {
    const proven: number[] = [];
    const prove = async (oldSize: number) => {
      proven.push(oldSize);
      return proveConsistency(oldSize, 9, read);
    };
    const { asked, isQuorum } = await collect({ a: has(4), b: has(9), c: has(0) }, { prove, quorum: 'all' });
    assert.deepEqual(
      { asked, proven, isQuorum },
      { asked: [[0, 4], [0, 9], [0]], proven: [4], isQuorum: true },
    );
  });

  it('remembers what each witness has, so that the next time one request is enough', async () => {
    await using witness = await scripted('a', has(4));
    const policy = await parsePolicy(`witness a ${witness.key.verifierKey} ${witness.url}/\nquorum a\n`);
    const sizes = new Map<string, number>();
    const options = { policy, http, clock: systemClock, sizes };
    await collectCosignatures({ ...options, note, prove: proveTo(9) });
    assert.deepEqual([...sizes.values()], [9]);
    await using grown = await scripted('a', has(9));
    const next = await parsePolicy(`witness a ${witness.key.verifierKey} ${grown.url}\nquorum a\n`);
    const collected = await collectCosignatures({
      ...options,
      policy: next,
      note: await noteOf(12),
      prove: proveTo(12),
    });
    assert.deepEqual([collected.isQuorum, grown.asked], [true, [9]]);
  });

  it('a witness that has forgotten is said to have, and cosigns from what it knows', async () => {
    await using witness = await scripted('a', has(4));
    const policy = await parsePolicy(`witness a ${witness.key.verifierKey} ${witness.url}\nquorum a\n`);
    const sizes = new Map([[`${witness.key.name}+${witness.key.keyId} ${ORIGIN}`, 7]]);
    const { reports } = await collectCosignatures({
      note,
      prove: proveTo(9),
      policy,
      http,
      clock: systemClock,
      sizes,
    });
    assert.match(reports[0]!.message, /it had 7 entries before and then said 4: it has forgotten/);
  });

  it('raises an alarm where a witness has a larger log, or one that ours does not extend', async () => {
    const { reports, isQuorum, asked } = await collect({
      ahead: sizeReply(10),
      forked: (body, ...rest) =>
        parseAddCheckpoint(body).oldSize === 5
          ? reply(422, 'bad proof')(body, ...rest)
          : sizeReply(5)(body, ...rest),
      sameSize: (body, ...rest) =>
        parseAddCheckpoint(body).oldSize === 9
          ? reply(409, 'other root')(body, ...rest)
          : sizeReply(9)(body, ...rest),
      fine: cosigns,
    });
    assert.deepEqual(
      reports.map(({ outcome, status, size }) => [outcome, status, size]),
      [
        ['Ahead', 409, 10],
        ['Inconsistent', 422, undefined],
        ['Inconsistent', 409, undefined],
        ['Cosigned', undefined, undefined],
      ],
    );
    assert.deepEqual(reports.filter(isAlarm), reports.slice(0, 3));
    assert.match(reports[0]!.message, /cosigned 10 entries, and our log has 9: our log was rolled back, or/);
    assert.deepEqual([isQuorum, asked], [true, [[0], [0, 5], [0, 9], [0]]]);
  });

  it('counts no answer that is not a cosignature of this checkpoint by this witness', async () => {
    const stranger = await cosigner('a.example/w', sha256(utf8('a stranger under the same name')));
    const other = await noteOf(8);
    const scripts: Record<string, Script> = {
      empty: reply(200, ''),
      prose: reply(200, 'cosigned\n'),
      stranger: async (body, response) =>
        void response.end(
          signatureLine(await stranger.cosign(parseNote(parseAddCheckpoint(body).note).text, TIME)),
        ),
      another: async (_, response, key) =>
        void response.end(signatureLine(await key.cosign(parseNote(other).text, TIME))),
      timeless: async (body, response, key) =>
        void response.end(signatureLine(await key.cosign(parseNote(parseAddCheckpoint(body).note).text, 0))),
      binary: (_, response) => void response.end(Buffer.of(0xe2, 0x80, 0xff)),
      huge: reply(200, 'x'.repeat(17_000)),
      nonsense: reply(409, 'five\n', 'text/x.tlog.size'),
    };
    const { note: same, isQuorum, reports } = await collect(scripts);
    assert.deepEqual([same, isQuorum], [note, false]);
    for (const { outcome, witness } of reports) assert.equal(outcome, 'Failed', witness);
    const messageOf = (name: string) => reports.find(({ witness }) => witness === name)!.message;
    assert.match(messageOf('stranger'), /none of 1 signatures is by a known key/);
    assert.match(messageOf('another'), /does not verify/);
    assert.match(messageOf('huge'), /over 16384 bytes/);
  });

  it('says why a witness refused, and follows it nowhere', async () => {
    let isFollowed = false;
    await using elsewhere = await scripted('elsewhere', (...args) => {
      isFollowed = true;
      return cosigns(...args);
    });
    const redirect: Script = (_, response) =>
      void response.writeHead(307, { location: `${elsewhere.url}/add-checkpoint` }).end('moved');
    const scripts = {
      r400: reply(400, 'malformed\n'),
      r403: reply(403, 'unknown key\n'),
      r404: reply(404, 'unknown log\n'),
      r500: reply(500, 'oops\n'),
      plain409: reply(409, 'conflict\n'),
      stubborn: sizeReply(0),
      moving: (body: string, ...rest: [ServerResponse, Cosigner]) =>
        sizeReply(parseAddCheckpoint(body).oldSize + 1)(body, ...rest),
      redirect,
    };
    const { reports, isQuorum, asked } = await collect(scripts);
    assert.deepEqual(
      reports.map(({ outcome, status }) => [outcome, status]),
      [400, 403, 404, 500, 409, 409, 409, 307].map((status) => ['Refused', status]),
    );
    assert.match(reports[1]!.message, /it answers 403: "unknown key"/);
    assert.deepEqual([isQuorum, reports.filter(isAlarm), isFollowed], [false, [], false]);
    assert.ok(asked.every((sizes) => sizes.length <= 2));
  });

  it('one that does not answer holds back nobody once there is a quorum, and is given up in time if there is none', async () => {
    const met = await collect({ a: cosigns, b: silent }, { lateMs: 50, timeoutMs: 60_000 });
    assert.deepEqual(
      [met.isQuorum, met.reports.map(({ outcome }) => outcome)],
      [true, ['Cosigned', 'Unreachable']],
    );
    assert.match(met.reports[1]!.message, /when the others were enough/);
    // On a slow machine that time is over when the one that answers has had its own.
    const answered = Promise.withResolvers<void>();
    const answers: Script = async (...args) => {
      await cosigns(...args);
      answered.resolve();
    };
    const clock: Clock = { ...systemClock, after: (_, run) => afterwards(answered.promise, run) };
    using slow = httpWith(clock);
    const options = { quorum: 'all', timeoutMs: 200, clock, http: slow };
    const unmet = await collect({ a: answers, b: silent }, options);
    const { outcome, message } = unmet.reports[1]!;
    assert.deepEqual([unmet.isQuorum, outcome, message], [false, 'Unreachable', 'no answer within 200 ms']);
    assert.equal(parseNote(unmet.note).signatures.length, 2, 'what was had is kept');
  });

  it('ends when it is told to, also while a proof is being made', async () => {
    const stop = new AbortController();
    systemClock.after(50, () => stop.abort(new Error('the service stops')));
    const prove = () => new Promise<never>(() => {});
    const { reports, isQuorum } = await collect({ a: has(4), b: silent }, { signal: stop.signal, prove });
    assert.equal(isQuorum, false);
    assert.deepEqual(
      reports.map(({ message }) => message),
      ['the service stops', 'the service stops'],
    );
  });

  it('a prover that fails, an address that leads nowhere and a witness without one are reports, not errors', async () => {
    const broken = await collect(
      { a: has(4) },
      { prove: () => Promise.reject(new Error('the tree is away')) },
    );
    assert.deepEqual(broken.reports[0], { witness: 'a', outcome: 'Failed', message: 'the tree is away' });
    const keys = await Promise.all(['x', 'y', 'z', 'u'].map((name) => cosigner(name, sha256(utf8(name)))));
    const urls = ['', 'http://127.0.0.1:9', 'ftp://127.0.0.1/', 'nowhere'];
    const lines = keys.map(({ name, verifierKey }, i) => `witness ${name} ${verifierKey} ${urls[i]}\n`);
    const policy = await parsePolicy(`${lines.join('')}quorum none\n`);
    const { reports, isQuorum } = await collectCosignatures({
      note,
      prove: proveTo(9),
      policy,
      http,
      clock: systemClock,
    });
    assert.deepEqual(
      reports.map(({ outcome }) => outcome),
      ['NotAsked', 'Unreachable', 'Unreachable', 'Unreachable'],
    );
    assert.match(reports[2]!.message, /begins with http: or https:, not with ftp:/);
    assert.equal(isQuorum, true, 'nobody has to cosign');
  });

  it('a witness that has cosigned already is not asked again', async () => {
    await using witness = await scripted('a', cosigns);
    const policy = await parsePolicy(`witness a ${witness.key.verifierKey} ${witness.url}\nquorum a\n`);
    const options = { prove: proveTo(9), policy, http, clock: systemClock };
    const once = await collectCosignatures({ ...options, note });
    const twice = await collectCosignatures({ ...options, note: once.note });
    assert.deepEqual([twice.note, twice.isQuorum, witness.asked.length], [once.note, true, 1]);
    assert.equal(twice.reports[0]!.outcome, 'Cosigned');
    const damaged = once.note.replace('\n9\n', '\n8\n');
    await assert.rejects(collectCosignatures({ ...options, note: damaged }), { reason: 'SIGNATURE_INVALID' });
  });
});
