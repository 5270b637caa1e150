// A real service and two real witnesses, over HTTP: what is published gets cosigned, a witness that is away is done
// without or waited for, and a service that was put back to an earlier state is found out.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmodSync, cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import {
  noteVerifier,
  parseAddCheckpoint,
  parseCheckpoint,
  parseNote,
  parsePolicy,
  verifyByPolicy,
  withSignatures,
} from '@tallystick/evidence';
import { run } from '../packages/cli/src/testing/command.ts';
import { witnessFolder } from '../packages/cli/src/testing/running-witness.ts';
import { serveWitness } from '../packages/cli/src/witness/http.ts';
import { belowLine, logsOf } from '../packages/cli/src/witness/logs.ts';
import { openWitnessData } from '../packages/cli/src/witness/witness-key.ts';
import { believeClearance, eventCaller } from '../packages/server/src/testing/event-caller.ts';
import { freePort } from '../packages/server/src/testing/free-port.ts';
import { startTestApp, type TestApp } from '../packages/server/src/testing/test-app.ts';
import { event } from './faults/client.ts';

const PREFIX = 'audit.example.com/t/';
/** However slow the machine is. */
const WAIT_MS_MAX = 120_000;

interface Witness extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly verifierKey: string;
  sizeOf(origin: string): number | undefined;
}

/** In this process; on the port that it had before, if it is given. */
async function witness(directory: string, name: string, logKey: string, port?: number): Promise<Witness> {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const { cosigner, heads, [Symbol.dispose]: close } = await openWitnessData(directory, name);
  const logs = logsOf([belowLine(PREFIX, logKey, 'the test')]);
  const nowMs = () => Date.now();
  const http = await serveWitness({
    witness: { cosigner, logs, heads, nowMs, onContradiction: () => {}, onNewName: () => {} },
    host: '127.0.0.1',
    port: port ?? (await freePort()),
    onError: (error) => assert.fail(String(error)),
  });
  return {
    url: http.address,
    port: Number(new URL(http.address).port),
    verifierKey: cosigner.verifierKey,
    sizeOf: (origin) => heads.latest(origin)?.size,
    async [Symbol.asyncDispose]() {
      const stopped = http.stop();
      http.cutOff();
      await stopped;
      close();
    },
  };
}

/** Stands before a witness and answers 500 for some logs, as public witnesses do for those that they do not know. */
async function answering500(witnessed: Witness, isUnknown: (origin: string) => boolean) {
  let refused = 0;
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    let body = '';
    for await (const chunk of request.setEncoding('utf8') as AsyncIterable<string>) body += chunk;
    if (isUnknown(parseCheckpoint(parseNote(parseAddCheckpoint(body).note).text).origin)) {
      refused += 1;
      return response.writeHead(500).end('unknown log\n');
    }
    const reply = await fetch(`${witnessed.url}${request.url}`, { method: 'POST', body });
    response.writeHead(reply.status, { 'content-type': reply.headers.get('content-type') ?? '' });
    return response.end(await reply.text());
  };
  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    refused: () => refused,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface Shown {
  readonly checkpoint: string;
  readonly treeSize: number;
  readonly cosignatures: number;
}

function startService(dataDirectory: string, policyFile?: string): Promise<TestApp> {
  const settings = {
    Log__Origin: 'audit.example.com',
    Log__CheckpointInterval: 'PT0.05S',
    Storage__DataDirectory: dataDirectory,
    ...(policyFile === undefined ? {} : { Log__WitnessPolicy: policyFile }),
  };
  return startTestApp(settings, { authenticate: believeClearance });
}

function reader(app: TestApp, tenant = 'acme') {
  const headers = { 'X-API-Key': 'Secret', 'X-Tenant-Id': tenant };
  const ask = async (path: string) => {
    const response = await fetch(`${app.url}/api/v1/${path}`, { headers });
    assert.equal(response.status, 200, path);
    return response;
  };
  const caller = eventCaller(app, tenant);
  return {
    async send() {
      const { status, body } = await caller.ingest(event('cosigned'));
      assert.equal(status, 201);
      return body.eventId;
    },
    statusOf: async (eventId: string) => (await caller.get(eventId)).body.integrity.status,
    latest: async () => (await (await ask('checkpoints/latest')).json()) as Shown,
    text: async (path: string) => (await ask(path)).text(),
  };
}

async function until<T>(what: string, look: () => Promise<T | false | undefined>): Promise<T> {
  for (const endMs = Date.now() + WAIT_MS_MAX; Date.now() < endMs; ) {
    const found = await look();
    if (found !== false && found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`not within ${WAIT_MS_MAX} ms: ${what}`);
}

const health = async (app: TestApp) =>
  (
    (await (await fetch(`${app.url}/api/v1/health`)).json()) as {
      entries: Record<string, { status: string; description?: string }>;
    }
  ).entries['log']!;

/** The service has run once without witnesses, so that they know its key; two of them are running. */
async function scene(quorum: 'any' | 'all') {
  const folder = witnessFolder();
  const at = (name: string) => join(folder.path, name);
  const { logKey, eventId } = await (async () => {
    await using app = await startService(at('data'));
    const acme = reader(app);
    const sent = await acme.send();
    await until('a first checkpoint', async () => (await acme.latest()).treeSize > 0);
    assert.deepEqual([(await acme.latest()).cosignatures, await acme.statusOf(sent)], [0, 'Checkpointed']);
    return { logKey: (await acme.text('log/t/acme/key')).trim(), eventId: sent };
  })();
  const startOne = (port?: number) => witness(at('w1'), 'witness.example.com/w1', logKey, port);
  const startTwo = (port?: number) => witness(at('w2'), 'witness.example.net/w2', logKey, port);
  const [one, two] = [await startOne(), await startTwo()];
  const policyText = `witness one ${one.verifierKey} ${one.url}\nwitness two ${two.verifierKey} ${two.url}/\ngroup enough ${quorum} one two\nquorum enough\n`;
  writeFileSync(at('policy'), policyText);
  const policy = await parsePolicy(policyText);
  return {
    at,
    logKey,
    eventId,
    one,
    two,
    startOne,
    startTwo,
    policy,
    policyFile: at('policy'),
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}

describe('a service with witnesses', () => {
  it('has what an earlier run left and what is new cosigned; checkpoint, proof and status show it', async () => {
    using place = await scene('all');
    await using one = place.one;
    await using two = place.two;
    await using app = await startService(place.at('data'), place.policyFile);
    const [acme, other] = [reader(app), reader(app, 'other')];
    await until('the earlier checkpoint is cosigned', async () => (await acme.latest()).cosignatures === 2);
    assert.equal(await acme.statusOf(place.eventId), 'Witnessed');

    const sent = await acme.send();
    await other.send();
    await until('the new event is witnessed', async () => (await acme.statusOf(sent)) === 'Witnessed');
    await until('another tenant too', async () => (await other.latest()).cosignatures === 2);

    const { checkpoint, cosignatures, treeSize } = await acme.latest();
    assert.equal(cosignatures, 2);
    const keys = [await noteVerifier(place.logKey)];
    const verdict = await verifyByPolicy(place.policy, checkpoint, keys);
    assert.deepEqual(
      verdict.cosignatures.map(({ witness: name }) => name),
      ['one', 'two'],
    );
    assert.equal(withSignatures(checkpoint, []), checkpoint, 'in the canonical order');
    assert.equal(await acme.text('log/t/acme/checkpoint'), checkpoint);
    const proof = JSON.parse(await acme.text(`audit-events/${sent}/proof`)) as { checkpoint: string };
    assert.equal(proof.checkpoint, checkpoint);
    writeFileSync(place.at('proof.json'), JSON.stringify(proof));
    const words = ['--key', place.logKey, '--policy', place.policyFile];
    const offline = await run(['verify', place.at('proof.json'), ...words]);
    assert.equal(offline.code, 0, offline.stderr + offline.stdout);
    assert.match(offline.stdout, /witness\.example\.com\/w1, witness\.example\.net\/w2/);
    assert.deepEqual(
      [one, two].map((each) => each.sizeOf(`${PREFIX}acme`)),
      [treeSize, treeSize],
    );
    assert.equal((await health(app)).status, 'Healthy');
  });

  it('does with one of two where one is enough; without either it waits, and goes on by itself when one is back', async () => {
    using place = await scene('any');
    await place.two[Symbol.asyncDispose]();
    await using app = await startService(place.at('data'), place.policyFile);
    const acme = reader(app);
    const first = await acme.send();
    await until('one cosignature', async () => (await acme.statusOf(first)) === 'Witnessed');
    assert.equal((await acme.latest()).cosignatures, 1);

    await place.one[Symbol.asyncDispose]();
    const second = await acme.send();
    await until('a checkpoint', async () => (await acme.statusOf(second)) !== 'Chained');
    await until('both are known to be away', async () =>
      ['one', 'two'].every((name) =>
        app.lines.some(({ witness: said, level }) => said === name && level === 'Warn'),
      ),
    );
    assert.equal(await acme.statusOf(second), 'Checkpointed');
    assert.equal((await acme.latest()).cosignatures, 0);

    await using _ = await place.startTwo(place.two.port);
    await until('cosigned again', async () => (await acme.statusOf(second)) === 'Witnessed');
    const { checkpoint } = await acme.latest();
    const verdict = await verifyByPolicy(place.policy, checkpoint, [await noteVerifier(place.logKey)]);
    assert.deepEqual(
      verdict.cosignatures.map(({ witness: name }) => name),
      ['two'],
    );
    assert.equal((await health(app)).status, 'Healthy');
  });

  it('has a log that its witness knows cosigned beside thirteen that it answers with 500', async () => {
    using place = await scene('any');
    await using one = place.one;
    await place.two[Symbol.asyncDispose]();
    await using front = await answering500(one, (origin) => origin.includes('/t/unknown-'));
    const policyFile = place.at('front');
    writeFileSync(policyFile, `witness one ${one.verifierKey} ${front.url}\nquorum one\n`);
    await using app = await startService(place.at('data'), policyFile);
    const acme = reader(app);
    const unknown = Array.from({ length: 13 }, (_, i) => reader(app, `unknown-${i}`));
    for (let round = 0; round < 6; round++) {
      for (const other of unknown) await other.send();
      const sent = await acme.send();
      await until('the known log is cosigned', async () => (await acme.statusOf(sent)) === 'Witnessed');
    }
    assert.ok(front.refused() >= 13, `${front.refused()} requests for unknown logs`);
    const isRested = ({ message }: Record<string, unknown>) => message === 'a witness does not answer';
    assert.deepEqual(app.lines.filter(isRested), [], 'and the witness was never given up');
  });

  it('keeps what was witnessed so, and proves it under the checkpoint that was cosigned, while a witness is away and after a restart', async () => {
    using place = await scene('all');
    await using _ = place.one;
    const first = place.eventId;
    const verified = async (acme: ReturnType<typeof reader>, eventId: string, words: string[]) => {
      writeFileSync(place.at('proof.json'), await acme.text(`audit-events/${eventId}/proof`));
      return (await run(['verify', place.at('proof.json'), '--key', place.logKey, ...words])).code;
    };
    const byPolicy = ['--policy', place.policyFile];
    const seen = async (acme: ReturnType<typeof reader>, second: string) => {
      assert.deepEqual([await acme.statusOf(first), await verified(acme, first, byPolicy)], ['Witnessed', 0]);
      assert.deepEqual([await acme.statusOf(second), await verified(acme, second, [])], ['Checkpointed', 0]);
      assert.notEqual(await verified(acme, second, byPolicy), 0, 'the newest checkpoint lacks a witness');
    };
    let second: string;
    {
      await using app = await startService(place.at('data'), place.policyFile);
      const acme = reader(app);
      await until('the first event is witnessed', async () => (await acme.statusOf(first)) === 'Witnessed');
      await place.two[Symbol.asyncDispose]();
      second = await acme.send();
      await until('one cosignature of two', async () => (await acme.latest()).cosignatures === 1);
      await seen(acme, second);
    }
    await using app = await startService(place.at('data'), place.policyFile);
    await seen(reader(app), second);
  });

  it('that was put back to an earlier state without its anchor is found out, and nothing is overwritten', async () => {
    using place = await scene('all');
    await using one = place.one;
    await using two = place.two;
    cpSync(place.at('data'), place.at('copy'), { recursive: true });
    const grownTo = await (async () => {
      await using app = await startService(place.at('data'), place.policyFile);
      const acme = reader(app);
      for (let i = 0; i < 5; i++) await acme.send();
      return await until('all is cosigned', async () => {
        const { cosignatures, treeSize } = await acme.latest();
        return cosignatures === 2 && treeSize >= 6 && treeSize;
      });
    })();

    rmSync(place.at('data'), { recursive: true });
    cpSync(place.at('copy'), place.at('data'), { recursive: true });
    // A copy has the file modes of the user who copies.
    for (const folder of ['data', 'data/signing-keys']) chmodSync(place.at(folder), 0o700);
    rmSync(place.at('data/anchor'));
    await assert.rejects(startService(place.at('data')), /knows none of the logs that were signed/);
    const env = { Storage__DataDirectory: place.at('data') };
    const accepted = await run(['recover', '--accept-lost-anchor', '--yes'], { env });
    assert.equal(accepted.code, 0, accepted.stderr);
    {
      await using blind = await startService(place.at('data'));
      assert.equal((await health(blind)).status, 'Healthy', 'without witnesses nobody notices');
    }
    await using app = await startService(place.at('data'), place.policyFile);
    const acme = reader(app);
    const alarms = () => app.lines.filter(({ level, outcome }) => level === 'Error' && outcome === 'Ahead');
    await until('both raise the alarm', async () => alarms().length === 2);
    const names = alarms().map(({ tenant, witness: name }) => `${String(tenant)} ${String(name)}`);
    assert.deepEqual(new Set(names), new Set(['acme one', 'acme two']));
    const { status, description = '' } = await health(app);
    assert.equal(status, 'Degraded');
    assert.match(description, /witness/);
    assert.doesNotMatch(description, /acme/);
    const latest = await acme.latest();
    assert.deepEqual([latest.treeSize < grownTo, latest.cosignatures], [true, 0]);
    assert.equal(parseNote(latest.checkpoint).signatures.length, 1);
    for (const each of [one, two])
      assert.equal(each.sizeOf(parseCheckpoint(parseNote(latest.checkpoint).text).origin), grownTo);

    // Grown past what they have, it is another history.
    for (let i = 0; i < 8; i++) await acme.send();
    await until('it contradicts what they have', async () =>
      app.lines.some(({ level, outcome }) => level === 'Error' && outcome === 'Inconsistent'),
    );
    assert.equal((await acme.latest()).cosignatures, 0);
    assert.equal(one.sizeOf(`${PREFIX}acme`), grownTo);
  });
});
