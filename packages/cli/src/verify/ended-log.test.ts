// A log that has ended, as the first entry of its successor says, and what comes of it when it is served again; logs in
// memory, served at one port under two spellings of its address.

import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type Checkpoint, EvidenceError } from '@tallystick/evidence';
import { CannotRun } from '../cannot-run.ts';
import { logAfterRestore, logOf, type MemoryLog, ORIGIN, signed, signerOf } from '../testing/memory-log.ts';
import { type LogOptions, verifyLogAt } from './verify-log.ts';

const scratch = mkdtempSync(join(tmpdir(), 'tallystick-ended-log-'));
const asked: string[] = [];
const apiKeys: unknown[] = [];
let served: MemoryLog;
let signingKey: string | undefined;
let isGone: (path: string) => boolean = () => false;

const server = createServer((request, response) => {
  const path = (request.url ?? '').replace(/^\/log\/t\/acme\//, '');
  asked.push(path);
  apiKeys.push(request.headers['x-api-key']);
  const answer = async () => {
    if (isGone(path)) return undefined;
    if (path === 'checkpoint') return signed(served.checkpoint, signingKey);
    return path.endsWith('/proof') ? served.proof('any') : served.files.get(path);
  };
  void answer().then((body) => response.writeHead(body === undefined ? 404 : 200).end(body));
});
let port: number;
before(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
});
after(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  rmSync(scratch, { recursive: true });
});

const OTHER_KEY = 'another key';
const newState = () => mkdtempSync(join(scratch, 'state-'));
const keyOf = async (origin: string, key?: string) => [(await signerOf(origin, key)).verifierKey];

async function verify(log: MemoryLog, options: LogOptions, host = '127.0.0.1') {
  served = log;
  return (await verifyLogAt(`http://${host}:${port}/log/t/acme`, options)).json;
}

async function refused(log: MemoryLog, options: LogOptions, host?: string): Promise<string> {
  try {
    await verify(log, options, host);
  } catch (error) {
    assert.ok(error instanceof EvidenceError || error instanceof CannotRun, String(error));
    return error instanceof EvidenceError ? `${error.reason}: ${error.message}` : error.message;
  }
  return 'verified';
}

/** A file of the log that is kept, or of the one that is not the successor. */
const fileIn = (state: string, name: string) =>
  readdirSync(state)
    .map((folder) => join(state, folder, name))
    .filter(existsSync);

const NEXT = `${ORIGIN}/1`;
const old = (size: number) => logOf(size);
const next = (former: Checkpoint, size = 3) => logAfterRestore({ origin: NEXT, former, size });
/** Other entries from the first on. */
const other = (size: number) =>
  logOf(size, (entry) => ({ ...entry, receivedAtMs: entry.receivedAtMs + 1_000_000 }));

/** The old log was kept with `size` entries, and then the one that goes on from it. */
async function succeeded(size: number, ended = old(size).checkpoint, more: LogOptions = {}): Promise<string> {
  const state = newState();
  await verify(old(size), { key: await keyOf(ORIGIN), state });
  await verify(next(ended), { key: await keyOf(NEXT), state, ...more });
  return state;
}

describe('a log that has ended', () => {
  it('is refused at any address once it has grown past the end that its successor names', async () => {
    const state = await succeeded(12);
    const key = await keyOf(ORIGIN);
    const fork = await refused(old(13), { key, state }, 'localhost');
    assert.match(fork, /^FORK: \S+acme has 13 entries, .*acme\/1.* 12/);
    const [aside] = fileIn(state, 'refused-checkpoint');
    assert.ok(fork.includes(aside!), fork);
    assert.equal(readFileSync(aside!, 'utf8'), await signed(old(13).checkpoint));
    assert.match(await refused(old(13), { key, state }), /^FORK/);
    assert.match(await refused(old(13), { key, state, acceptNewEpoch: true }), /^FORK/);
    // What was signed before its end is what it was.
    assert.equal((await verify(old(12), { key, state }, 'localhost'))['extends'], 12);
    assert.match(await refused(old(11), { key, state }, 'localhost'), /^ROLLBACK/);
  });

  it('is refused so where nothing was kept of it but a file, and where its end is only accepted', async () => {
    const since = join(scratch, 'since');
    writeFileSync(since, await signed(old(12).checkpoint));
    const [key, nextKey] = [await keyOf(ORIGIN), await keyOf(NEXT)];
    const state = newState();
    await verify(next(old(12).checkpoint), { key: nextKey, state, since });
    assert.match(await refused(old(13), { key, state }, 'localhost'), /^FORK: .*acme\/1/);
    assert.match(await refused(other(12), { key, state }, 'localhost'), /^FORK: .*acme\/1/);
    assert.equal((await verify(old(12), { key, state }, 'localhost'))['extends'], null);
    const accepted = await succeeded(12, old(10).checkpoint, { acceptNewEpoch: true });
    assert.match(await refused(old(13), { key, state: accepted }, 'localhost'), /^FORK: .*acme\/1.* 10/);
    assert.equal((await verify(old(12), { key, state: accepted }, 'localhost'))['extends'], 12);
  });

  it('may be seen up to its end by a verifier that had kept less, and must have the named root there', async () => {
    const key = await keyOf(ORIGIN);
    const state = await succeeded(5, old(12).checkpoint, { acceptNewEpoch: true });
    assert.equal((await verify(old(8), { key, state }, 'localhost'))['extends'], 5);
    const named = await succeeded(5, other(12).checkpoint, { acceptNewEpoch: true });
    assert.match(
      await refused(old(12), { key, state: named }, 'localhost'),
      /^FORK: .*another root.*acme\/1/,
    );
    assert.equal((await verify(old(12), { key, state }, 'localhost'))['extends'], 8);
    assert.match(await refused(old(13), { key, state }, 'localhost'), /^FORK/);
  });

  it('does not grow unproven where a later log is known and nothing says where this one ended', async () => {
    const key = await keyOf(ORIGIN);
    const state = newState();
    await verify(old(5), { key, state });
    const later = logAfterRestore({ origin: `${ORIGIN}/2`, former: next(old(5).checkpoint).checkpoint });
    await verify(later, { key: await keyOf(`${ORIGIN}/2`), state, acceptNewEpoch: true });
    assert.match(await refused(old(6), { key, state }, 'localhost'), /^HISTORY_UNPROVEN: .*acme\/2/);
    assert.equal((await verify(old(5), { key, state }, 'localhost'))['extends'], 5);
  });

  it('at the address of its successor is not taken up by --accept-new-epoch alone, which says what is needed', async () => {
    const state = await succeeded(12);
    const words = await refused(old(12), { state, acceptNewEpoch: true });
    assert.match(words, /^ORIGIN_MISMATCH: .*acme, .*acme\/1.*--accept-new-epoch.*--key/);
    assert.doesNotMatch(await refused(old(12), { state }), /--accept-new-epoch/);
    const foreign = logOf(3, undefined, { origin: 'elsewhere.example/t/acme' });
    assert.match(await refused(foreign, { state, acceptNewEpoch: true }), /elsewhere.*--key/);
  });
});

describe('a log of another tenant', () => {
  it('does not end this one by saying so, even where it was accepted', async () => {
    const [state, key] = [newState(), await keyOf(ORIGIN)];
    await verify(old(5), { key, state });
    const origin = 'elsewhere.example/t/acme/1';
    const foreign = logAfterRestore({ origin, former: old(5).checkpoint });
    await verify(foreign, { key: await keyOf(origin), state, acceptNewEpoch: true });
    assert.equal((await verify(old(6), { key, state }, 'localhost'))['extends'], 5);
  });
});

describe('what is said of a refused checkpoint', () => {
  const PROOF = /proves the fork to anybody/;

  it('is that it proves a fork, where one key has signed two roots of one size', async () => {
    const [state, key] = [newState(), await keyOf(ORIGIN)];
    await verify(old(5), { key, state });
    const words = await refused(other(5), { state });
    assert.match(words, PROOF);
    for (const name of ['checkpoint', 'refused-checkpoint'])
      assert.ok(words.includes(fileIn(state, name)[0]!), words);
  });

  it('is not that, where sizes or keys differ or the log is another', async () => {
    const [state, key] = [newState(), await keyOf(ORIGIN)];
    await verify(old(5), { key, state });
    for (const log of [other(6), old(4)]) {
      const words = await refused(log, { state });
      assert.match(words, /^(FORK|ROLLBACK): .*sizes differ/);
      assert.doesNotMatch(words, PROOF);
      assert.ok(words.includes(fileIn(state, 'refused-checkpoint')[0]!), words);
    }
    signingKey = OTHER_KEY;
    const rekeyed = await refused(other(5), { key: await keyOf(ORIGIN, OTHER_KEY), state });
    signingKey = undefined;
    assert.match(rekeyed, /^FORK: .*no one key has signed both/);
    const foreign = logOf(3, undefined, { origin: 'elsewhere.example/t/acme' });
    const replaced = await refused(foreign, { key: await keyOf(foreign.checkpoint.origin), state });
    assert.match(replaced, /^FORK: .*elsewhere\.example\/t\/acme has 3 entries/);
    assert.doesNotMatch(replaced, /prove/);
  });

  it('names the file that was given, where nothing else was kept', async () => {
    const [state, key, since] = [newState(), await keyOf(ORIGIN), join(scratch, 'mine')];
    writeFileSync(since, await signed(old(5).checkpoint));
    const words = await refused(other(5), { key, state, since });
    assert.match(words, PROOF);
    assert.ok(words.includes(since), words);
    const renamed = await refused(next(old(1).checkpoint, 1), { key: await keyOf(NEXT), state, since });
    assert.match(renamed, /^ROLLBACK: \S+acme\/1 says that \S+acme was signed with 1 entry when/);
    assert.ok(renamed.includes(since), renamed);
  });
});

describe('a served log of which a part is wrong or missing', () => {
  it('has its first entry compared with the tree before anybody is asked what that says', async () => {
    const [state, key] = [newState(), await keyOf(NEXT)];
    const log = next(old(5).checkpoint);
    await verify(log, { key, state, entries: true });
    const files = new Map(log.files);
    const path = [...files.keys()].find((each) => each.startsWith('tile/entries/'))!;
    files.set(path, Uint8Array.from(files.get(path)!).fill(9, 60, 70));
    asked.length = 0;
    assert.match(await refused({ ...log, files }, { state, entries: true }), /^LEAF_MISMATCH: entry 0/);
    assert.deepEqual(
      asked.filter((each) => each.endsWith('/proof')),
      [],
    );
  });

  it('is asked without an API key where that is empty', async () => {
    const before = process.env['TALLYSTICK_API_KEY'];
    process.env['TALLYSTICK_API_KEY'] = '';
    apiKeys.length = 0;
    await verify(old(3), { key: await keyOf(ORIGIN), state: newState() });
    await verify(old(3), { key: await keyOf(ORIGIN), state: newState(), apiKey: '' });
    if (before === undefined) delete process.env['TALLYSTICK_API_KEY'];
    else process.env['TALLYSTICK_API_KEY'] = before;
    assert.deepEqual([...new Set(apiKeys)], [undefined]);
  });

  it('is not said to be of another tenant once its checkpoint was served', async () => {
    const [state, key] = [newState(), await keyOf(NEXT)];
    const log = next(old(5).checkpoint);
    for (const missing of [/^tile\/\d/, /^tile\/entries/, /proof$/]) {
      isGone = (path) => missing.test(path);
      const words = await refused(log, { key, state, entries: true });
      assert.match(words, /answers 404.*checkpoint is served/);
      assert.doesNotMatch(words, /tenant right/);
    }
    isGone = (path) => path === 'checkpoint';
    assert.match(await refused(log, { key, state }), /answers 404.*is the tenant right/);
    isGone = () => false;
  });
});
