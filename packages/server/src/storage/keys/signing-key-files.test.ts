import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { StartError } from '../../start-error.ts';
import { nextId } from '../conformance/claims.ts';
import {
  loadSigningKeys,
  openSigningKeys,
  type PlannedRotation,
  rotateSigningKey,
  SIGNING_KEYS_FOLDER,
} from './signing-key-files.ts';

const NOW = 1_767_323_046_000;
const HOUR = 3_600_000;

const rotate = (directory: string, overlapMs: number, nowMs: number) =>
  rotateSigningKey(directory, { overlapMs, nowMs, nextId }, async () => {});

function place(): Disposable & { path: string; folder: string; file: (name: string) => string } {
  const path = mkdtempSync(join(tmpdir(), 'tallystick-signing-keys-'));
  const folder = join(path, SIGNING_KEYS_FOLDER);
  return {
    path,
    folder,
    file: (name) => join(folder, name),
    [Symbol.dispose]: () => rmSync(path, { recursive: true }),
  };
}

async function fingerprints(directory: string): Promise<string[]> {
  return (await loadSigningKeys(directory))?.map(({ fingerprint }) => fingerprint) ?? [];
}

function refusal(...patterns: RegExp[]): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof StartError, String(error));
    for (const pattern of patterns) assert.match(error.message, pattern);
    return true;
  };
}

test('the first key is created once, for its owner only, and leaves no other files', async () => {
  using data = place();
  assert.equal(await loadSigningKeys(data.path), undefined);
  assert.deepEqual(readdirSync(data.path), []);
  const store = await openSigningKeys(data.path, NOW);
  assert.deepEqual(readdirSync(data.folder), ['0001.json', '0001.pem']);
  assert.equal(statSync(data.folder).mode & 0o777, 0o700);
  for (const name of readdirSync(data.folder)) assert.equal(statSync(data.file(name)).mode & 0o777, 0o600);
  const [key, ...others] = store.keys();
  assert.deepEqual(others, []);
  assert.equal(key.createdAtMs, NOW);
  assert.equal(key.signsUntilMs, undefined);
  const again = await openSigningKeys(data.path, NOW + HOUR);
  assert.ok(again.keys()[0].privateKey.equals(key.privateKey));
  assert.equal(again.keys()[0].createdAtMs, NOW);
});

test('of processes that start for the first time at once, one creates the key and all use it', async () => {
  using data = place();
  const program = `
    import { openSigningKeys } from ${JSON.stringify(new URL('signing-key-files.ts', import.meta.url).href)};
    while (Date.now() < Number(process.argv[1]));
    const store = await openSigningKeys(${JSON.stringify(data.path)}, Date.now());
    process.stdout.write(store.keys()[0].fingerprint);`;
  const at = String(Date.now() + 700);
  const run = () =>
    promisify(execFile)(process.execPath, [
      ...process.execArgv.filter((option) => option.startsWith('--conditions')),
      '--input-type=module-typescript',
      '--eval',
      program,
      at,
    ]);
  const outputs = await Promise.all([run(), run()]);
  const [key] = await fingerprints(data.path);
  for (const { stdout } of outputs) assert.equal(stdout, key);
  assert.deepEqual(readdirSync(data.folder), ['0001.json', '0001.pem']);
});

test('concurrent first starts inside one process have the same key, too', async () => {
  using data = place();
  const stores = await Promise.all(Array.from({ length: 12 }, (_, i) => openSigningKeys(data.path, NOW + i)));
  const records = new Set(
    stores.map((store) => `${store.keys()[0].fingerprint} ${store.keys()[0].createdAtMs}`),
  );
  assert.equal(records.size, 1);
  assert.deepEqual(readdirSync(data.folder), ['0001.json', '0001.pem']);
});

test('a rotation adds a key, and the previous one gets an end', async () => {
  using data = place();
  const [first] = (await openSigningKeys(data.path, NOW)).keys();
  const keys = await rotate(data.path, HOUR, NOW + 5);
  assert.deepEqual(
    keys.map(({ createdAtMs, signsUntilMs }) => [createdAtMs, signsUntilMs]),
    [
      [NOW + 5, undefined],
      [NOW, NOW + 5 + HOUR],
    ],
  );
  assert.ok(keys[1]?.privateKey.equals(first.privateKey));
  assert.ok(!keys[0].privateKey.equals(first.privateKey));
  assert.deepEqual(readdirSync(data.folder), ['0001.json', '0001.pem', '0002.json', '0002.pem', '0002.plan']);
  const later = await rotate(data.path, 0, NOW + 5 + HOUR);
  assert.deepEqual(
    later.map(({ signsUntilMs }) => signsUntilMs),
    [undefined, NOW + 5 + HOUR, NOW + 5 + HOUR],
  );
});

test('a rotation during an overlap is refused, and so is one without a key', async () => {
  using data = place();
  await assert.rejects(rotate(data.path, HOUR, NOW), refusal(/no signing key.*start the service once/));
  assert.deepEqual(readdirSync(data.path), []);
  await openSigningKeys(data.path, NOW);
  await assert.rejects(rotate(data.path, -1, NOW), refusal(/-1 ms/));
  await rotate(data.path, HOUR, NOW);
  const before = readdirSync(data.folder);
  await assert.rejects(
    rotate(data.path, HOUR, NOW + HOUR - 1),
    refusal(/signs until 2026-01-02T04:04:06\.000Z/),
  );
  assert.deepEqual(readdirSync(data.folder), before);
});

test('of concurrent rotations one succeeds, and the others fail with a message', async () => {
  using data = place();
  await openSigningKeys(data.path, NOW);
  const results = await Promise.allSettled(Array.from({ length: 6 }, () => rotate(data.path, HOUR, NOW + 1)));
  assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1);
  for (const result of results) {
    if (result.status === 'rejected') refusal(/by another process|signs until/)(result.reason);
  }
  assert.equal((await fingerprints(data.path)).length, 2);
});

test('a first start or rotation that is interrupted anywhere is complete or has no effect, and the next one succeeds', async () => {
  using data = place();
  await openSigningKeys(data.path, NOW);
  const [first] = await fingerprints(data.path);
  await rotate(data.path, 0, NOW);
  const [second] = await fingerprints(data.path);
  const whole = join(data.path, 'whole');
  cpSync(data.folder, whole, { recursive: true });
  // In the order in which they are written; a crash leaves the first few.
  const steps: [string[], string[]][] = [
    [[], []],
    [['0001.pem'], []],
    [['0001.pem', '0001.json'], [first!]],
    [['0001.pem', '0001.json', '0002.pem'], [first!]],
    [
      ['0001.pem', '0001.json', '0002.pem', '0002.json'],
      [second!, first!],
    ],
  ];
  for (const [names, expected] of steps) {
    rmSync(data.folder, { recursive: true });
    mkdirSync(data.folder, { mode: 0o700 });
    for (const name of names) cpSync(join(whole, name), data.file(name));
    // An unfinished draft.
    mkdirSync(data.file('0002.pem.draft-x1y2z3'));
    writeFileSync(join(data.file('0002.pem.draft-x1y2z3'), 'draft'), '-----BEGIN');
    assert.deepEqual(await fingerprints(data.path), expected);
    const store = await openSigningKeys(data.path, NOW + HOUR);
    if (names.includes('0001.pem')) assert.equal(store.keys().at(-1)?.fingerprint, first);
    const { length } = store.keys();
    const keys = await rotate(data.path, HOUR, NOW + HOUR);
    assert.equal(keys.length, length + 1);
    if (names.at(-1) === '0002.pem') assert.equal(keys[0].fingerprint, second);
  }
});

test('a running service adopts a rotation at its next reload, and keeps its keys until then', async () => {
  using data = place();
  const store = await openSigningKeys(data.path, NOW);
  const before = store.keys();
  await store.reload();
  assert.equal(store.keys(), before);
  const rotated = await rotate(data.path, HOUR, NOW);
  assert.equal(store.keys(), before);
  await store.reload();
  assert.deepEqual(
    store.keys().map(({ fingerprint, signsUntilMs }) => [fingerprint, signsUntilMs]),
    rotated.map(({ fingerprint, signsUntilMs }) => [fingerprint, signsUntilMs]),
  );
});

test('keys that are exchanged while the service runs are refused, and it keeps its own', async () => {
  using data = place();
  using other = place();
  const store = await openSigningKeys(data.path, NOW);
  const before = store.keys();
  await openSigningKeys(other.path, NOW);
  await rotate(other.path, HOUR, NOW);
  rmSync(data.folder, { recursive: true });
  renameSync(other.folder, data.folder);
  await assert.rejects(store.reload(), refusal(/were exchanged/));
  assert.equal(store.keys(), before);
});

test('a missing file is named, and no new key replaces it', async () => {
  using data = place();
  await openSigningKeys(data.path, NOW);
  await rotate(data.path, 0, NOW);
  await rotate(data.path, 0, NOW);
  for (const name of ['0001.pem', '0001.json', '0002.pem', '0002.json', '0003.pem']) {
    const content = readFileSync(data.file(name));
    rmSync(data.file(name));
    const before = readdirSync(data.folder);
    await assert.rejects(
      openSigningKeys(data.path, NOW),
      refusal(new RegExp(`${name} is missing`), /put it back/),
    );
    await assert.rejects(rotate(data.path, 0, NOW), StartError);
    assert.deepEqual(readdirSync(data.folder), before);
    writeFileSync(data.file(name), content, { mode: 0o600 });
  }
  assert.equal((await fingerprints(data.path)).length, 3);
  // Without any record, too: this is not an interrupted first start.
  for (const name of ['0001.json', '0002.json', '0003.json']) rmSync(data.file(name));
  await assert.rejects(openSigningKeys(data.path, NOW), refusal(/0001\.json is missing/));
});

test('a file that is no key, another key, or no record is refused and left unchanged', async () => {
  using data = place();
  await openSigningKeys(data.path, NOW);
  const pem = (type: 'ed25519' | 'x25519') =>
    (type === 'ed25519' ? generateKeyPairSync('ed25519') : generateKeyPairSync('x25519')).privateKey
      .export({ format: 'pem', type: 'pkcs8' })
      .toString();
  const { publicKey } = generateKeyPairSync('ed25519');
  const cases: [string, string, RegExp][] = [
    ['0001.pem', '', /not an Ed25519 private key/],
    ['0001.pem', 'nonsense', /not an Ed25519 private key/],
    ['0001.pem', pem('x25519'), /not an Ed25519 private key/],
    ['0001.pem', publicKey.export({ format: 'pem', type: 'spki' }).toString(), /not an Ed25519 private key/],
    [
      '0001.pem',
      pem('ed25519'),
      /not the key of its record; put back the one with the fingerprint [0-9a-f]{64}/,
    ],
    ['0001.json', '{}', /not a record of a signing key/],
    ['0001.json', '', /not a record of a signing key/],
  ];
  for (const [name, content, message] of cases) {
    const right = readFileSync(data.file(name));
    writeFileSync(data.file(name), content);
    await assert.rejects(openSigningKeys(data.path, NOW), refusal(message, new RegExp(name)));
    assert.equal(readFileSync(data.file(name), 'utf8'), content);
    writeFileSync(data.file(name), right);
  }
  await rotate(data.path, 0, NOW);
  cpSync(data.file('0001.json'), data.file('0002.json'));
  await assert.rejects(openSigningKeys(data.path, NOW), refusal(/0002\.json is not a record/));
});

test('keys that others than the owner can read are refused with the command that repairs it', async () => {
  using data = place();
  await openSigningKeys(data.path, NOW);
  for (const [path, right, wrong] of [
    [data.file('0001.pem'), 0o600, [0o640, 0o604, 0o620, 0o601]],
    [data.folder, 0o700, [0o750, 0o705, 0o770]],
  ] as const) {
    for (const mode of wrong) {
      chmodSync(path, mode);
      await assert.rejects(
        openSigningKeys(data.path, NOW),
        refusal(new RegExp(`run: chmod ${right.toString(8)} ${path}$`)),
      );
    }
    chmodSync(path, right);
  }
  assert.equal((await fingerprints(data.path)).length, 1);
});

test('a data directory that cannot be used is refused', async () => {
  using data = place();
  await assert.rejects(openSigningKeys(join(data.path, 'missing'), NOW), refusal(/ENOENT/));
  writeFileSync(data.folder, '', { mode: 0o600 });
  await assert.rejects(openSigningKeys(data.path, NOW), refusal(/ENOTDIR/));
});

test('the plan of an interrupted attempt binds the next one, and one of another key is refused', async () => {
  using data = place();
  await openSigningKeys(data.path, NOW);
  const attempt = (overlapMs: number, nowMs: number, announce: (planned: PlannedRotation) => void) =>
    rotateSigningKey(data.path, { overlapMs, nowMs, nextId }, async (planned) => announce(planned));
  const seen: PlannedRotation[] = [];
  const cut = (planned: PlannedRotation) => {
    seen.push(planned);
    throw new Error('cut short');
  };
  await assert.rejects(attempt(HOUR, NOW, cut), /cut short/);
  await assert.rejects(attempt(9 * HOUR, NOW + 5, cut), /cut short/);
  const [first, second] = seen.map(({ next, overlapEndsAtMs, noticeId, plannedAtMs }) => [
    next.fingerprint,
    overlapEndsAtMs,
    noticeId,
    plannedAtMs,
  ]);
  assert.deepEqual(second, first);
  assert.deepEqual([first![1], first![3]], [NOW + HOUR, NOW]);
  const plan = readFileSync(data.file('0002.plan'), 'utf8');
  for (const other of [plan.replace(first![0] as string, 'a'.repeat(64)), plan.slice(1), '']) {
    writeFileSync(data.file('0002.plan'), other);
    await assert.rejects(
      attempt(HOUR, NOW, () => assert.fail('it is announced')),
      refusal(/0002\.plan is not the plan of .*0002\.pem/),
    );
  }
  writeFileSync(data.file('0002.plan'), plan);
  assert.equal((await rotate(data.path, HOUR, NOW)).length, 2);
});

test('a plan whose overlap ends before the key counts is replaced, with other notices', async () => {
  using data = place();
  await openSigningKeys(data.path, NOW);
  const seen: PlannedRotation[] = [];
  const attempt = (nowMs: number, announce: () => Promise<void>) =>
    rotateSigningKey(data.path, { overlapMs: HOUR, nowMs, nextId }, async (planned) => {
      seen.push(planned);
      await announce();
    });
  const cut = () => Promise.reject(new Error('cut short'));
  await assert.rejects(attempt(NOW, cut), /cut short/);
  const late = NOW + HOUR + 1;
  await assert.rejects(attempt(late, cut), /cut short/);
  await assert.rejects(attempt(late + 5, cut), /cut short/);
  assert.deepEqual(
    seen.map(({ overlapEndsAtMs, plannedAtMs }) => [overlapEndsAtMs, plannedAtMs]),
    [
      [NOW + HOUR, NOW],
      [late + HOUR, late],
      [late + HOUR, late],
    ],
  );
  assert.equal(new Set(seen.map(({ next }) => next.fingerprint)).size, 1);
  assert.equal(new Set(seen.map(({ noticeId }) => noticeId)).size, 2);
  // One attempt continues with the second plan while another finds it expired, too, and makes a third.
  const later = late + HOUR + 1;
  const overtaken = attempt(late + 9, () => assert.rejects(attempt(later, cut), /cut short/));
  await assert.rejects(overtaken, refusal(/changed by another process/));
  const keys = await attempt(later + 9, async () => {});
  assert.equal(keys[1]?.signsUntilMs, later + HOUR);
});
