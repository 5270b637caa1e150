import assert from 'node:assert/strict';
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import {
  cosignatureVerifier,
  formatAddCheckpoint,
  openCosignature,
  parseNote,
  sha256,
  signatureLine,
  signNote,
  toBase64,
  verifyCosignatures,
} from '@tallystick/evidence';
import { run } from '../testing/command.ts';
import { type RunningWitness, startWitness, witnessFolder } from '../testing/running-witness.ts';
import { type SampleLog, sampleLog } from '../testing/sample-log.ts';

const PREFIX = 'audit.example.com/t/';
const acme = await sampleLog(`${PREFIX}acme`);
const BELOW = ['--logs-below', PREFIX, acme.verifierKey];
/** Each test has a tenant of its own, in the same witness. */
const tenant = (name: string, more = {}) => sampleLog(`${PREFIX}${name}`, more);
const HASH = toBase64(sha256(new Uint8Array(1)));
const SIZE_TYPE = 'text/x.tlog.size';

async function witnessTo(witness: RunningWitness, log: SampleLog, ...sizes: number[]): Promise<void> {
  let oldSize = 0;
  for (const size of sizes) {
    const { status, body } = await witness.add(await log.request(oldSize, size));
    assert.equal(status, 200, body);
    oldSize = size;
  }
}

describe('tallystick witness: the status of each answer', async () => {
  const folder = witnessFolder();
  const other = await sampleLog('other.example/log', { key: 'another key' });
  const witness = await startWitness(folder.path, [...BELOW, '--log', other.verifierKey]);
  after(async () => {
    await witness[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });
  const statusOf = async (request: string | Uint8Array) => (await witness.add(request)).status;

  it('200: the first checkpoint, the next one, and the same one again, each with a cosignature that verifies', async () => {
    const log = await tenant('first');
    const verifier = await cosignatureVerifier(witness.verifierKey);
    for (const [oldSize, size] of [
      [0, 3],
      [3, 8],
      [8, 8],
      [8, 9],
    ] as const) {
      const { status, contentType, body } = await witness.add(await log.request(oldSize, size));
      assert.deepEqual([status, contentType], [200, 'text/plain; charset=utf-8'], body);
      assert.match(body, /^— witness\.example\.com\/w1 \S+\n$/);
      const { timeSeconds } = await openCosignature(await log.note(size), body, verifier);
      assert.ok(Math.abs(timeSeconds - Date.now() / 1000) < 60);
    }
  });

  it('200: an empty log, and then one that is not empty', async () => {
    await witnessTo(witness, await tenant('empty'), 0, 0, 5);
  });

  it('200: a log with a line of its own, and a checkpoint that others have signed too', async () => {
    const signedTwice = await signNote(parseNote(await other.note(4)).text, [other.signer, acme.signer]);
    assert.equal(await statusOf(formatAddCheckpoint({ oldSize: 0, proof: [], note: signedTwice })), 200);
    const stored = await witness.checkpoint(other.origin);
    assert.deepEqual(
      parseNote(stored!).signatures.map(({ name }) => name),
      [other.origin, 'witness.example.com/w1'],
    );
  });

  it('400: what cannot be read, and an old size above that of the checkpoint', async () => {
    const log = await tenant('malformed');
    const note = await log.note(5);
    const wrong = [
      '',
      note,
      `old 5\n${note}`,
      `old x\n\n${note}`,
      `old 05\n\n${note}`,
      `old 0\nnot base64\n\n${note}`,
      `old 0\n${`${HASH}\n`.repeat(64)}\n${note}`,
      `old 0\n\n${note.slice(0, -1)}`,
      `old 0\n\n${note.replace('\n5\n', '\n5x\n')}`,
      `old 6\n\n${note}`,
      Uint8Array.of(0xff, 0xfe),
    ];
    for (const request of wrong) assert.equal(await statusOf(request), 400, String(request));
    assert.equal(await witness.checkpoint(log.origin), undefined);
  });

  it('404: a log that is not followed, however its name looks like one that is', async () => {
    for (const origin of [
      'nobody.example/log',
      'audit.example.com/tx/acme',
      PREFIX,
      'audit.example.com/t',
      'a b',
    ]) {
      const text = parseNote(await acme.note(2)).text.replace(acme.origin, origin);
      const note = await signNote(text, [acme.signer]);
      assert.equal(await statusOf(`old 0\n\n${note}`), 404, origin);
    }
  });

  it('403: no signature by a key of the log, or one that fails beside one that does not', async () => {
    const log = await tenant('forged');
    const thief = await tenant('forged', { key: 'a key of somebody else' });
    assert.equal(await statusOf(await thief.request(0, 2)), 403, 'signed by another key under the same name');
    const { text } = parseNote(await log.note(2));
    const neighbour = await signNote(text, [acme.signer]);
    assert.equal(await statusOf(`old 0\n\n${neighbour}`), 403, 'signed by the right key under another name');
    const { signatures } = parseNote(await log.note(3));
    const wrong = signatures.map(signatureLine).join('');
    assert.equal(await statusOf(`old 0\n\n${text}\n${wrong}`), 403, 'the signature of another checkpoint');
    assert.equal(await statusOf(`old 0\n\n${await log.note(2)}${wrong}`), 403, 'a good one and a bad one');
    assert.equal(await witness.checkpoint(log.origin), undefined);
  });

  it('409: another old size than the one stored; the body is the stored size', async () => {
    const log = await tenant('stale');
    const fresh = await witness.add(await log.request(3, 5));
    assert.deepEqual(fresh, { status: 409, contentType: SIZE_TYPE, body: '0\n' });
    await witnessTo(witness, log, 5);
    for (const [oldSize, size] of [
      [0, 5],
      [0, 9],
      [4, 9],
      [6, 9],
      [3, 4],
      [4, 4],
    ] as const) {
      const answer = await witness.add(await log.request(oldSize, size));
      assert.deepEqual(answer, { status: 409, contentType: SIZE_TYPE, body: '5\n' }, `${oldSize} to ${size}`);
    }
  });

  it('422: a proof that does not show it, a proof from nothing, and a size 0 with a root', async () => {
    const log = await tenant('unproven');
    const note = await log.note(9);
    const empty = await signNote(`${log.origin}\n0\n${HASH}\n`, [log.signer]);
    assert.equal(await statusOf(formatAddCheckpoint({ oldSize: 0, proof: log.prove(5, 9), note })), 422);
    assert.equal(await statusOf(`old 0\n\n${empty}`), 422);
    await witnessTo(witness, log, 5);
    for (const proof of [
      [],
      log.prove(4, 9),
      log.prove(5, 9).toReversed(),
      [...log.prove(5, 9), ...log.prove(5, 9)],
    ]) {
      assert.equal(await statusOf(formatAddCheckpoint({ oldSize: 5, proof, note })), 422);
    }
    const same = formatAddCheckpoint({ oldSize: 5, proof: log.prove(4, 5), note: await log.note(5) });
    assert.equal(await statusOf(same), 422, 'from a size to itself there is nothing to prove');
    assert.match((await witness.checkpoint(log.origin))!, /\n5\n/);
  });

  it('a log that forks is refused whatever way it tries, and what it signed is on record', async () => {
    const log = await tenant('fork');
    const fork = await tenant('fork', { label: 'another history' });
    await witnessTo(witness, log, 4, 6);
    const before = await witness.checkpoint(log.origin);
    assert.equal(await statusOf(await fork.request(6, 6)), 422, 'another root for the same size');
    assert.equal(await statusOf(await fork.request(6, 9)), 422, 'growth from another history');
    assert.equal(await statusOf(await fork.request(0, 9)), 409, 'a new beginning');
    assert.equal(await statusOf(await log.request(4, 5)), 409, 'a smaller size, by its own history');
    assert.equal(await statusOf(await log.request(5, 5)), 409);
    assert.equal(await witness.checkpoint(log.origin), before);
    await witnessTo(witness, await tenant('fork-neighbour'), 3);
    assert.equal(await statusOf(await log.request(6, 9)), 200, 'and the true history goes on');
  });

  it('a log of a new name is a new log, also where the name says that it goes on: cosigned, and on record', async () => {
    const log = await tenant('restored');
    await witnessTo(witness, log, 4, 7);
    // Its entries could be any: a witness sees none of them.
    await witnessTo(witness, await tenant('restored/1', { label: 'another history' }), 2, 5);
    await witnessTo(witness, await tenant('restored/10'), 1);
    await witnessTo(witness, await tenant('restored/2'), 1);
    await witnessTo(witness, await tenant('restored-not/1'), 1);
    const overview = await (await fetch(witness.url)).text();
    const line = (name: string, rest: string) => `cosigned ${PREFIX}${name} ${rest}\n`;
    for (const expected of [
      line('restored', '7'),
      line('restored/1', `5, by its name after ${log.origin} 7`),
      line('restored/2', `1, by its name after ${log.origin}/1 5`),
      line('restored/10', `1, by its name after ${log.origin}/2 1`),
      line('restored-not/1', '1'),
    ]) {
      assert.ok(overview.includes(expected), `${expected}${overview}`);
    }
    assert.match((await witness.checkpoint(log.origin))!, /\n7\n/, 'what was cosigned of the old one stays');
  });

  it('413, 405 and 404: what is too long, and what is not there', async () => {
    for (const length of [65_537, 1_000_000]) assert.equal(await statusOf('x'.repeat(length)), 413);
    assert.equal(await statusOf('x'.repeat(65_536)), 400);
    const ask = async (method: string, path: string) => {
      const response = await fetch(`${witness.url}${path}`, { method });
      await response.arrayBuffer();
      return response.status;
    };
    assert.equal(await ask('GET', '/add-checkpoint'), 405);
    assert.equal(await ask('POST', '/'), 405);
    assert.equal(await ask('GET', '/elsewhere'), 404);
    assert.equal(await ask('GET', `/${'0'.repeat(64)}/checkpoint`), 404);
    assert.equal(await ask('HEAD', '/'), 200);
  });

  it('shows its key and the logs with their sizes, and the latest checkpoint of each with both signatures', async () => {
    const log = await tenant('shown');
    await witnessTo(witness, log, 2, 7);
    const overview = await (await fetch(witness.url)).text();
    assert.ok(overview.includes(`key      ${witness.verifierKey}\n`));
    assert.ok(overview.includes(`follows  every log below ${PREFIX}\n`));
    assert.ok(overview.includes(`cosigned ${log.origin} 7\n`), overview);
    const stored = (await witness.checkpoint(log.origin))!;
    assert.ok(stored.startsWith(await log.note(7)));
    const witnesses = [await cosignatureVerifier(witness.verifierKey)];
    assert.equal((await verifyCosignatures(stored, { witnesses, witnessesMin: 1 })).length, 1);
  });

  it('of 50 that start from one size at the same time, one wins; 50 that say the same are all told so', async () => {
    const log = await tenant('crowd');
    await witnessTo(witness, log, 10);
    const requests = await Promise.all(Array.from({ length: 50 }, (_, i) => log.request(10, 11 + i)));
    const answers = await Promise.all(requests.map((request) => witness.add(request)));
    const won = answers.flatMap(({ status }, i) => (status === 200 ? [11 + i] : []));
    assert.equal(won.length, 1, `won: ${won.join(' ')}`);
    assert.ok(
      answers.every(({ status, body }) => status === 200 || (status === 409 && body === `${won[0]}\n`)),
    );
    assert.match((await witness.checkpoint(log.origin))!, new RegExp(`\\n${won[0]}\\n`));
    const same = await log.request(won[0]!, won[0]!);
    const again = await Promise.all(Array.from({ length: 50 }, () => witness.add(same)));
    assert.deepEqual(new Set(again.map(({ status }) => status)), new Set([200]));
  });

  it('SIGTERM: answers, stops and exits 0, also while a connection is kept alive', async () => {
    witness.process.child.kill('SIGTERM');
    const { code, signal, stderr } = await witness.process.ended;
    assert.deepEqual([code, signal], [0, null]);
    const told = stderr
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<'message' | 'reason' | 'note' | 'stored', string>);
    const fork = told.find(
      ({ reason, note }) => note.startsWith(`${PREFIX}fork\n6\n`) && /another root/.test(reason),
    );
    assert.match(fork?.stored ?? '', /\/fork\n6\n/);
    const renamed = told.filter(({ message }) => /new name/.test(message));
    assert.deepEqual(
      renamed.map(({ note, stored }) => [note, stored].map((text) => text.split('\n').slice(0, 2).join(' '))),
      [
        [`${PREFIX}restored/1 2`, `${PREFIX}restored 7`],
        [`${PREFIX}restored/10 1`, `${PREFIX}restored/1 5`],
        [`${PREFIX}restored/2 1`, `${PREFIX}restored/1 5`],
      ],
    );
  });
});

describe('tallystick witness: what it keeps, and what it does not wait for', { concurrency: 3 }, () => {
  it('a request that never ends is cut off, and holds nobody back', async () => {
    using folder = witnessFolder();
    await using witness = await startWitness(folder.path, BELOW);
    const { hostname, port } = new URL(witness.url);
    const socket = connect(Number(port), hostname);
    socket.on('error', () => {});
    socket.write('POST /add-checkpoint HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\nold 0');
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.resume();
    await witnessTo(witness, await tenant('beside-a-slow-one'), 2);
    await closed;
  });

  it('a witness that was started anew goes on where it was, under the same key', async () => {
    using folder = witnessFolder();
    const log = await tenant('kept');
    const keys: string[] = [];
    for (const [oldSize, size] of [
      [0, 4],
      [4, 6],
      [6, 20],
    ] as const) {
      await using witness = await startWitness(folder.path, BELOW);
      keys.push(witness.verifierKey);
      if (oldSize > 0) assert.deepEqual((await witness.add(await log.request(0, 1))).body, `${oldSize}\n`);
      assert.equal((await witness.add(await log.request(oldSize, size))).status, 200);
    }
    assert.equal(new Set(keys).size, 1);
    assert.match(keys[0]!, /^witness\.example\.com\/w1\+[0-9a-f]{8}\+B/);
    for (const file of readdirSync(folder.path)) {
      assert.equal(statSync(join(folder.path, file)).mode & 0o077, 0, `${file} is for its owner alone`);
    }
  });

  it('a witness whose memory or key is gone, or whose name is another, does not start', async () => {
    using folder = witnessFolder();
    const log = await tenant('gone');
    {
      await using witness = await startWitness(folder.path, BELOW);
      await witnessTo(witness, log, 4);
    }
    const start = (name: string) =>
      run(['witness', '--data', folder.path, '--name', name, '--port', '0', ...BELOW]);
    const renamed = await start('witness.example.com/w2');
    assert.deepEqual([renamed.code, renamed.stdout], [2, '']);
    assert.match(renamed.stderr, /is that of the witness witness\.example\.com\/w1\+/);
    const key = readFileSync(join(folder.path, 'witness-key.pem'));
    rmSync(join(folder.path, 'witness-key.pem'));
    assert.match((await start('witness.example.com/w1')).stderr, /witness-key\.pem is gone/);
    writeFileSync(join(folder.path, 'witness-key.pem'), key, { mode: 0o600 });
    for (const file of readdirSync(folder.path).filter((each) => each.startsWith('witness.db'))) {
      rmSync(join(folder.path, file));
    }
    const forgotten = await start('witness.example.com/w1');
    assert.equal(forgotten.code, 2);
    assert.match(forgotten.stderr, /a witness that has forgotten what it cosigned must not go on/);
  });

  it('follows what the file logs says, and says which line it cannot read', async () => {
    using folder = witnessFolder();
    const log = await sampleLog('file.example/log');
    const file = join(folder.path, 'logs');
    writeFileSync(file, `# ours\n\nlog ${log.verifierKey}\nbelow ${PREFIX} ${acme.verifierKey}\n`);
    {
      await using witness = await startWitness(folder.path, []);
      await witnessTo(witness, log, 3);
      await witnessTo(witness, await tenant('by-file'), 3);
    }
    writeFileSync(file, `log ${log.verifierKey}\nlogs ${log.verifierKey}\n`);
    const args = ['witness', '--data', folder.path, '--name', 'w', '--port', '0'];
    const { code, stderr } = await run(args);
    assert.equal(code, 2);
    assert.equal(
      stderr,
      `tallystick: ${file}, line 2: a line is "log <verifier key>" or "below <prefix> <verifier key>"\n`,
    );
  });

  it('a command line that makes no sense is exit code 2, and one clear line', async () => {
    using folder = witnessFolder();
    const table: [string[], RegExp][] = [
      [['--name', 'a b'], /not a key name: "a b"/],
      [['--data', join(folder.path, 'a', 'b')], /cannot make the data directory .* \(ENOENT\)/],
      [['--data', import.meta.filename], /--data is .*witness\.test\.ts, which is no directory\n/],
      [['--port', 'x'], /--port is "x"; it is 0 to 65535/],
      [['--log', 'x'], /--log: "x" is no usable key/],
      [['--logs-below', PREFIX], /--logs-below takes two values/],
      [['--logs-below', 'audit.example.com/t', acme.verifierKey], /does not end in a slash/],
      [['--logs-below', 'elsewhere/', acme.verifierKey], /which is not below elsewhere\//],
    ];
    for (const [args, message] of table) {
      const { code, stdout, stderr } = await run([
        'witness',
        '--data',
        folder.path,
        '--name',
        'w',
        '--port',
        '0',
        ...args,
      ]);
      assert.deepEqual([code, stdout], [2, ''], stderr);
      assert.match(stderr, message);
      assert.equal(stderr.trimEnd().split('\n').length, 1);
    }
  });
});
