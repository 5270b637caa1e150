import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import {
  decodeEntry,
  KINDS,
  noteVerifier,
  type NoticePayload,
  openCheckpoint,
  parseJson,
  readNotice,
  openTexts,
} from '@tallystick/evidence';
import { systemClock } from '../runtime/clock.ts';
import { createFakeClock } from '../testing/fake-clock.ts';
import { createSystemRandom } from '../runtime/random.ts';
import { nextId, NOW_MS, soundContent } from '../storage/conformance/claims.ts';
import { fill } from '../storage/conformance/tree.ts';
import { loadSigningKeys, openSigningKeys, rotateSigningKey } from '../storage/keys/signing-key-files.ts';
import { openSqliteStorage } from '../storage/sqlite/sqlite-storage.ts';
import type { Storage } from '../storage/storage.ts';
import type { AnchoredHead } from '../streams/anchor/anchor.ts';
import type { LogWriter } from '../streams/log.ts';
import { findAffected } from '../streams/anchor/recovery.ts';
import { type Announced, announceRotation, type Rotation } from './rotation.ts';
import { createSigning } from './signing.ts';

const folder = mkdtempSync(join(tmpdir(), 'tallystick-rotation-'));
after(() => rmSync(folder, { recursive: true }));

const HOUR = 3_600_000;
const ORIGIN = 'audit.example.com/t/t0';

interface World extends AsyncDisposable {
  readonly directory: string;
  readonly storage: Storage;
  readonly heads: Map<string, AnchoredHead>;
  announce(rotation: Rotation, append?: LogWriter['append']): Promise<Announced>;
}

/** So many tenants with an event each, t0 and on, and a first signing key. */
async function world(tenants: number): Promise<World> {
  const directory = mkdtempSync(join(folder, 'data-'));
  const storage = await openSqliteStorage({
    directory,
    logOrigin: 'audit.example.com',
    streams: { sealAfter: { ms: 1e12 }, sealAfterEvents: 1000 },
    clock: systemClock,
    random: createSystemRandom(),
    threads: false,
    exclusive: false,
    onFatal: assert.fail,
  });
  await openSigningKeys(directory, NOW_MS);
  const names = Array.from({ length: tenants }, (_, i) => `t${i}`);
  await Promise.all(names.map((name) => storage.tenants.ensure(name, NOW_MS)));
  for (const name of names) await fill(storage, name, 1);
  const heads = new Map<string, AnchoredHead>();
  return {
    directory,
    storage,
    heads,
    announce: (rotation, append = (...pool) => storage.log.append(...pool)) =>
      announce(rotation, storage, heads, append),
    [Symbol.asyncDispose]: () => storage[Symbol.asyncDispose](),
  };
}

/** As the command does it, with these heads anchored. */
async function announce(
  rotation: Rotation,
  storage: Storage,
  heads: ReadonlyMap<string, AnchoredHead>,
  append: LogWriter['append'],
): Promise<Announced> {
  const { tree } = storage;
  const clock = { now: () => NOW_MS };
  const history = async () => new Map(Array.from(heads, ([origin, head]) => [origin, [head]]));
  const anchor = {
    isNew: heads.size === 0,
    heads: () => heads,
    forks: () => new Map<string, string>(),
    history,
    refresh: async () => {},
  };
  const found = await findAffected({ ...storage, anchor, telemetry: { warn: assert.fail }, clock });
  const refused = new Map(found.damaged);
  for (const { tenant, message } of found.disagreements) refused.set(tenant, message);
  const correlationId = '7d3f0c52-6a3e-4b51-9a0e-2f6b1f3c9d11';
  return announceRotation(rotation, { tree, log: { append }, refused, clock, correlationId });
}

type Notice = NoticePayload<typeof KINDS.keyRotation>;

/** The notices of a rotation in a tenant's log, read as a verifier does. */
async function noticesOf({ storage }: World, tenant: string): Promise<Notice[]> {
  const rows = await storage.tree.forTenant(tenant).evidenceRange(0, 100, 100);
  return rows.flatMap(({ entry, content }) => {
    if (decodeEntry(entry).kind !== KINDS.keyRotation) return [];
    assert.ok(content !== undefined && 'texts' in content);
    const notice = readNotice(decodeEntry(entry), openTexts(content.texts, content.salts));
    return notice.kind === KINDS.keyRotation ? [{ ...notice.payload }] : [];
  });
}

async function rotated(here: World): Promise<Announced> {
  let announced: Announced | undefined;
  await rotateSigningKey(here.directory, request(), async (planned) => {
    announced = await here.announce(planned);
  });
  return announced!;
}

const request = (overlapMs = HOUR, nowMs = NOW_MS) => ({ overlapMs, nowMs, nextId });

test('each of 200 logs names both keys before the new one counts, and once', async () => {
  await using here = await world(200);
  let announced: Announced | undefined;
  const keys = await rotateSigningKey(here.directory, request(), async (planned) => {
    announced = await here.announce(planned);
    assert.equal((await loadSigningKeys(here.directory))!.length, 1, 'it does not count yet');
  });
  assert.deepEqual([announced!.told.size, announced!.before, announced!.without.size], [200, 0, 0]);
  const signing = createSigning({ now: () => NOW_MS });
  signing.use({ keys: () => keys, reload: async () => {} });
  for (let i = 0; i < 200; i++) {
    const [newKey, previousKey] = signing.verifierKeys(`audit.example.com/t/t${i}`);
    const notices = await noticesOf(here, `t${i}`);
    assert.deepEqual(notices, [
      { previousKey, newKey, overlapEndsAt: new Date(NOW_MS + HOUR).toISOString() },
    ]);
  }
});

test('the old key signs before, both during the overlap, and the new one alone after it', async () => {
  await using here = await world(1);
  const clock = createFakeClock(NOW_MS);
  const signing = createSigning(clock);
  signing.use(await openSigningKeys(here.directory, NOW_MS));
  const head = { origin: ORIGIN, size: 1, root: new Uint8Array(32) };
  const opens = async (note: string, key: string) => {
    const verifiers = [await noteVerifier(key)];
    return openCheckpoint(note, { origin: ORIGIN, verifiers }).then(
      () => true,
      () => false,
    );
  };
  const [old] = signing.verifierKeys(ORIGIN);
  const before = signing.sign(head);
  await rotateSigningKey(here.directory, request(), async (planned) => void (await here.announce(planned)));
  assert.deepEqual(signing.verifierKeys(ORIGIN), [old], 'not before it is looked for');
  await signing.reload();
  const during = signing.sign(head);
  const both = signing.verifierKeys(ORIGIN);
  assert.deepEqual([both.length, both[1]], [2, old]);
  await clock.advance(HOUR);
  const behind = signing.sign(head);
  assert.deepEqual(signing.verifierKeys(ORIGIN), [both[0]]);
  const [{ newKey } = { newKey: '' }] = await noticesOf(here, 't0');
  assert.deepEqual(await Promise.all([before, during, behind].map((note) => opens(note, old!))), [
    true,
    true,
    false,
  ]);
  assert.deepEqual(await Promise.all([before, during, behind].map((note) => opens(note, newKey))), [
    false,
    true,
    true,
  ]);
});

test('a rotation that is cut short while logs are told goes on with the same key and the same end', async () => {
  await using here = await world(150);
  let pools = 0;
  const failing: LogWriter['append'] = (requests, now) =>
    ++pools === 2 ? Promise.reject(new Error('the disk is full')) : here.storage.log.append(requests, now);
  const cut = rotateSigningKey(here.directory, request(), async (planned) => {
    await here.announce(planned, failing);
  });
  await assert.rejects(cut, /the disk is full/);
  assert.equal((await loadSigningKeys(here.directory))!.length, 1);
  let announced: Announced | undefined;
  const keys = await rotateSigningKey(here.directory, request(9 * HOUR, NOW_MS + 5), async (planned) => {
    announced = await here.announce(planned);
  });
  assert.deepEqual([announced!.told.size, announced!.before], [150, 100]);
  assert.deepEqual([keys.length, keys[1]!.signsUntilMs], [2, NOW_MS + HOUR]);
  const ends = new Date(NOW_MS + HOUR).toISOString();
  for (const tenant of ['t0', 't99', 't100', 't149']) {
    const notices = await noticesOf(here, tenant);
    assert.deepEqual(
      notices.map(({ overlapEndsAt }) => overlapEndsAt),
      [ends],
    );
  }
});

test('a crash between the notices and the record loses nothing and repeats nothing', async () => {
  await using here = await world(3);
  const crash = rotateSigningKey(here.directory, request(), async (planned) => {
    await here.announce(planned);
    throw new Error('killed');
  });
  await assert.rejects(crash, /killed/);
  const files = () => readdirSync(join(here.directory, 'signing-keys'));
  assert.deepEqual(files(), ['0001.json', '0001.pem', '0002.pem', '0002.plan']);
  assert.equal(
    (await openSigningKeys(here.directory, NOW_MS)).keys().length,
    1,
    'the service starts as before',
  );
  let before: number | undefined;
  await rotateSigningKey(here.directory, request(), async (planned) => {
    ({ before } = await here.announce(planned));
  });
  assert.equal(before, 3);
  for (const tenant of ['t0', 't1', 't2']) assert.equal((await noticesOf(here, tenant)).length, 1);
});

test('two at a time announce one rotation, and one of them makes it count', async () => {
  await using here = await world(20);
  const rotations = await Promise.allSettled(
    [1, 2, 3].map(() =>
      rotateSigningKey(here.directory, request(), async (planned) => void (await here.announce(planned))),
    ),
  );
  assert.deepEqual(rotations.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected', 'rejected']);
  assert.equal((await loadSigningKeys(here.directory))!.length, 2);
  for (let i = 0; i < 20; i++) assert.equal((await noticesOf(here, `t${i}`)).length, 1);
});

test('a log that is behind its anchor gets no notice, and the others do', async () => {
  await using here = await world(3);
  const origin = 'audit.example.com/t/t1';
  here.heads.set(origin, { origin, size: 9, root: new Uint8Array(32) });
  const announced = await rotated(here);
  assert.equal(announced.told.size, 2);
  assert.deepEqual([...announced.without.keys()], ['t1']);
  assert.equal((await noticesOf(here, 't1')).length, 0);
  const stored = await here.storage.log.forTenant('t0').events(1, 2, 1);
  assert.equal(stored[0]!.classification, 'Internal');
  const facts = parseJson(soundContent(stored[0]).texts[0]) as { actor: unknown; action: string };
  assert.deepEqual([facts.actor, facts.action], [{ actorType: 'System' }, 'Rotate.SigningKey']);
});

test('a log whose anchored head is not stored gets the notice if it passes through that head, and else not', async () => {
  await using here = await world(3);
  const { grown } = await here.storage.tree.readGrowth();
  for (const [tenant, root] of [
    ['t0', grown.find((log) => log.tenant === 't0')!.heads.at(-1)!.root],
    ['t1', new Uint8Array(32)],
  ] as const) {
    const origin = `audit.example.com/t/${tenant}`;
    here.heads.set(origin, { origin, size: 1, root });
  }
  const announced = await rotated(here);
  assert.deepEqual([...announced.told], ['t0', 't2']);
  assert.deepEqual([...announced.without.keys()], ['t1']);
  const counts = await Promise.all(
    ['t0', 't1', 't2'].map(async (tenant) => (await noticesOf(here, tenant)).length),
  );
  assert.deepEqual(counts, [1, 0, 1]);
});
