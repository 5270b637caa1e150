import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { CannotRun } from '../cannot-run.ts';
import { sampleLog } from '../testing/sample-log.ts';
import { defaultStateDirectory, keptCheckpoint, type WatchedLog, WatchedLogs } from './watched-log.ts';

const scratch = mkdtempSync(join(tmpdir(), 'tallystick-watched-'));
after(() => rmSync(scratch, { recursive: true }));
const newFolder = () => join(mkdtempSync(join(scratch, 'w-')), 'state');
const ADDRESS = 'https://audit.example.com/api/v1/log/t/acme';
const sample = await sampleLog('audit.example.com/t/acme');

async function logOf(size: number, more: Partial<WatchedLog> = {}): Promise<WatchedLog> {
  const { origin, verifierKey } = sample;
  return { origin, keys: [verifierKey], addresses: [ADDRESS], checkpoint: await sample.note(size), ...more };
}

describe('what is remembered of a log', () => {
  it('is found by its origin and by its address, and by nothing else', async () => {
    const watched = new WatchedLogs(newFolder());
    assert.equal(watched.at(ADDRESS), undefined);
    const log = await logOf(3);
    const path = watched.keep(undefined, log);
    assert.deepEqual([watched.of(log.origin), watched.at(ADDRESS)], [log, log]);
    assert.deepEqual([watched.of('other'), watched.at(`${ADDRESS}/`)], [undefined, undefined]);
    assert.equal(readFileSync(path, 'utf8'), log.checkpoint);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.equal(keptCheckpoint(log).size, 3);
  });

  it('is replaced whole, and leaves no other file', async () => {
    const folder = newFolder();
    const watched = new WatchedLogs(folder);
    const [first, second] = [await logOf(3), await logOf(5)];
    watched.keep(undefined, first);
    watched.keep(first, second);
    assert.deepEqual(watched.at(ADDRESS), second);
    assert.deepEqual(readdirSync(join(folder, readdirSync(folder)[0]!)).sort(), ['checkpoint', 'log.json']);
  });

  it('is not replaced by a run that began before another one ended', async () => {
    const watched = new WatchedLogs(newFolder());
    const [first, second, third] = [await logOf(3), await logOf(5), await logOf(4)];
    watched.keep(undefined, first);
    watched.keep(first, second);
    assert.throws(() => watched.keep(first, third), CannotRun);
    assert.throws(() => watched.keep(undefined, third), CannotRun);
    assert.deepEqual(watched.of(first.origin), second);
  });

  it('is that of one log at a time at each address, and of the others only by their origin', async () => {
    const watched = new WatchedLogs(newFolder());
    const old = await logOf(3, { addresses: [ADDRESS, 'https://elsewhere.example/log'] });
    watched.keep(undefined, old);
    const next = await sampleLog(`${sample.origin}/1`);
    const log = { ...old, origin: next.origin, checkpoint: await next.note(1), addresses: [ADDRESS] };
    watched.keep(undefined, log);
    assert.deepEqual(watched.at(ADDRESS), log);
    assert.deepEqual(watched.of(sample.origin), { ...old, addresses: ['https://elsewhere.example/log'] });
  });

  it('tells where a log has ended that another one of its tenant goes on from, and from nobody else', async () => {
    const watched = new WatchedLogs(newFolder());
    const end = { origin: sample.origin, size: 3, root: new Uint8Array(32).fill(3) };
    for (const origin of [`${sample.origin}/1`, 'audit.example.com/t/other/1']) {
      const checkpoint = await (await sampleLog(origin)).note(1);
      watched.keep(undefined, { origin, keys: [], addresses: [ADDRESS], checkpoint, former: end });
    }
    // The address went to the second; the first still says so.
    assert.deepEqual(watched.endOf(sample.origin), { end, by: `${sample.origin}/1` });
    assert.deepEqual(
      [watched.endOf(`${sample.origin}/1`), watched.after(`${sample.origin}/1`)],
      [undefined, []],
    );
  });

  it('is refused where it does not say in its own form where the log before has ended', async () => {
    const watched = new WatchedLogs(newFolder());
    const former = { origin: 'before', size: 3, root: new Uint8Array(32) };
    const file = join(watched.keep(undefined, await logOf(3, { former })), '../log.json');
    const facts = JSON.parse(readFileSync(file, 'utf8')) as { former: object };
    const { former: right } = facts;
    const wrong = [null, 'x', {}, { ...right, size: -1 }, { ...right, size: 1.5 }, { ...right, size: '3' }];
    for (const each of [...wrong, { ...right, root: 'x' }, { ...right, origin: 'a\nb' }]) {
      writeFileSync(file, JSON.stringify({ ...facts, former: each }));
      assert.throws(() => watched.of(sample.origin), /cannot be read/, JSON.stringify(each));
    }
  });

  it('is not begun anew when the checkpoint is gone, or is none', async () => {
    const watched = new WatchedLogs(newFolder());
    const path = watched.keep(undefined, await logOf(3));
    writeFileSync(path, 'nonsense');
    assert.throws(() => watched.at(ADDRESS), /cannot be read/);
    rmSync(path);
    assert.throws(() => watched.of(sample.origin), /a rollback would not be noticed/);
  });

  it('does not take the keys of one log for those of another', async () => {
    const watched = new WatchedLogs(newFolder());
    const path = watched.keep(undefined, await logOf(3));
    const other = await sampleLog('audit.example.com/t/other');
    writeFileSync(path, await other.note(3));
    assert.throws(() => watched.at(ADDRESS), /does not belong to the checkpoint/);
  });

  it('says so where it cannot be read or written', async () => {
    const file = join(mkdtempSync(join(scratch, 'file-')), 'state');
    writeFileSync(file, 'not a folder');
    const log = await logOf(3);
    assert.throws(() => new WatchedLogs(file).keep(undefined, log), CannotRun);
    assert.throws(() => new WatchedLogs(file).at(ADDRESS), /cannot read the state directory/);
  });

  it('lies where programs of this user keep their state', () => {
    assert.equal(defaultStateDirectory({ XDG_STATE_HOME: '/s' }), '/s/tallystick');
    assert.match(defaultStateDirectory({ XDG_STATE_HOME: 'relative' }), /\/\.local\/state\/tallystick$/);
    assert.match(defaultStateDirectory({}), /^\/.*\/\.local\/state\/tallystick$/);
  });
});
