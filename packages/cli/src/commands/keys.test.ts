import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import { run, start } from '../testing/command.ts';
import { emptyPlace, FIRST_KEY_NAME, placeWithData } from '../testing/place.ts';

const KEY = /^tsk_([0-9A-HJKMNP-TV-Z]{26})_[0-9A-HJKMNP-TV-Z]{32}_[0-9A-HJKMNP-TV-Z]{7}\n$/;

interface Listed {
  readonly keyId: string;
  readonly tenantId: string;
  readonly status: string;
  readonly roles: string[];
  readonly scopes: string[];
  readonly name: string;
  readonly clearance?: string;
  readonly createdAt: string;
  readonly expiresAt?: string;
  readonly allowedNetworks?: readonly string[];
}

/** The command where it can work. */
async function setUp() {
  const place = await placeWithData();
  const keys = (...args: string[]) => place.run(['keys', ...args]);
  return {
    ...place,
    keys,
    async make(...args: string[]) {
      const { code, stdout, stderr } = await keys('create', ...args);
      assert.equal(code, 0, stderr);
      return { key: stdout.trim(), keyId: KEY.exec(stdout)?.[1] ?? assert.fail(stdout), stderr };
    },
    /** Without the key that was there before. */
    async list(...args: string[]) {
      const { stdout } = await keys('list', '--json', ...args);
      return (JSON.parse(stdout) as Listed[]).filter(({ name }) => name !== FIRST_KEY_NAME);
    },
  };
}

const SLOW_MS = 120_000;

describe('tallystick keys', { concurrency: 3 }, () => {
  it('makes a key whose scopes its roles do not have, and says so', async () => {
    using place = await placeWithData();
    const args = ['create', '--tenant', 'acme', '--role', 'Viewer', '--scope', 'audit:read', 'audit:write'];
    const { code, stderr } = await place.run(['keys', ...args]);
    assert.equal(code, 0);
    assert.match(
      stderr,
      /--scope audit:write is not among the scopes of --role Viewer: audit:read, audit:verify/,
    );
  });

  it('create prints the key alone, and keeps only its hash', async () => {
    using place = await setUp();
    const args = ['--tenant', 'acme', '--role', 'Operator', '--scope', 'audit:write', '--name', 'ci'];
    const { key, keyId, stderr } = await place.make(...args, '--expires-in', '90d', '--clearance', 'Secret');
    assert.match(
      stderr,
      new RegExp(
        `^made key ${keyId} \\(ci\\) for tenant acme: Operator, audit:write; clearance Secret; works until .*\\n$`,
      ),
    );
    assert.ok(!stderr.includes(key));
    for (const file of readdirSync(place.data, { recursive: true, withFileTypes: true })) {
      if (!file.isFile()) continue;
      const secret = key.slice(31, -8);
      assert.ok(
        !readFileSync(join(file.parentPath, file.name), 'latin1').includes(secret),
        `${file.name} has the secret`,
      );
    }
    const [listed = assert.fail()] = await place.list();
    const lifetimeMs = Date.parse(listed.expiresAt!) - Date.parse(listed.createdAt);
    // The end is reckoned before the data is opened, which takes its time on a slow machine.
    assert.ok(Math.abs(lifetimeMs - 90 * 86_400_000) < SLOW_MS, `${lifetimeMs} ms`);
    const { createdAt: _, expiresAt: __, ...facts } = listed;
    assert.deepEqual(facts, {
      keyId,
      tenantId: 'acme',
      name: 'ci',
      roles: ['Operator'],
      scopes: ['audit:write'],
      clearance: 'Secret',
      status: 'Active',
      createdBy: 'system',
    });
  });

  it('several roles and scopes can be given in any way', async () => {
    using place = await setUp();
    await place.make(
      '--tenant',
      '*',
      '--role',
      'Admin',
      'Viewer',
      '--role',
      'Auditor',
      '--scope',
      'audit:read,audit:write',
    );
    const [{ roles, scopes, tenantId } = assert.fail()] = await place.list('--tenant', '*');
    assert.deepEqual(
      [tenantId, roles, scopes],
      ['*', ['Admin', 'Viewer', 'Auditor'], ['audit:read', 'audit:write']],
    );
  });

  it('a key may belong to networks, and what is none is refused', async () => {
    using place = await setUp();
    await place.make(
      '--tenant',
      'acme',
      '--role',
      'Viewer',
      '--network',
      '10.0.0.0/8',
      '--network',
      '2001:db8::1',
    );
    const [{ allowedNetworks } = assert.fail()] = await place.list();
    assert.deepEqual(allowedNetworks, ['10.0.0.0/8', '2001:db8::1']);
    await assert.rejects(
      place.make('--tenant', 'acme', '--role', 'Viewer', '--network', '10.0.0.0/33'),
      /--network 10\.0\.0\.0\/33: must be an IP address or a network/,
    );
  });

  it('list shows the keys of one tenant or of all, in a table or as JSON', async () => {
    using place = await setUp();
    const first = await place.make('--tenant', 'acme', '--role', 'Viewer');
    const second = await place.make('--tenant', 'other', '--role', 'Viewer', '--name', 'büro 2');
    assert.deepEqual(
      (await place.list()).map(({ keyId }) => keyId),
      [first.keyId, second.keyId],
    );
    assert.deepEqual(
      (await place.list('--tenant', 'other')).map(({ name }) => name),
      ['büro 2'],
    );
    assert.deepEqual(await place.list('--tenant', 'nobody'), []);
    const { stdout } = await place.keys('list');
    const lines = stdout.trimEnd().split('\n');
    assert.match(
      lines[0]!,
      /^KEY ID +TENANT +STATUS +ROLES AND SCOPES +CLEARANCE +CREATED +EXPIRES +NETWORKS +LAST USED +NAME$/,
    );
    assert.match(lines[3]!, new RegExp(`^${second.keyId}  other +Active +Viewer +- +\\S+ +- +- +- +büro 2$`));
    assert.ok(!stdout.includes(first.key.slice(31, 63)));
  });

  it('rotate makes a key in the place of another, which then has an end', async () => {
    using place = await setUp();
    const old = await place.make('--tenant', 'acme', '--role', 'Viewer');
    const { code, stdout, stderr } = await place.keys('rotate', old.keyId.toLowerCase(), '--grace', '2h');
    assert.equal(code, 0, stderr);
    assert.match(stderr, new RegExp(`${old.keyId} works for another 2h\n$`));
    const [before, after] = await place.list();
    assert.deepEqual(
      [KEY.exec(stdout)?.[1], after?.roles, after?.expiresAt],
      [after?.keyId, ['Viewer'], undefined],
    );
    const graceMs = Date.parse(before!.expiresAt!) - Date.parse(after!.createdAt);
    // The new key is made a moment after the end of the old one was settled.
    assert.ok(Math.abs(graceMs - 2 * 3_600_000) < SLOW_MS, `${graceMs} ms`);
    const again = await place.keys('rotate', old.keyId);
    assert.equal(again.code, 1);
    assert.match(again.stderr, /^tallystick: The API key \w+ was rotated before; \w+ took its place\.\n$/);
  });

  it('revoke ends a key at once, and to do it again is no failure', async () => {
    using place = await setUp();
    const { keyId } = await place.make('--tenant', 'acme', '--role', 'Viewer');
    for (let i = 0; i < 2; i++) {
      const { code, stdout, stderr } = await place.keys('revoke', keyId);
      assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: '', stderr: `revoked ${keyId}\n` });
    }
    assert.deepEqual(
      (await place.list()).map(({ status }) => status),
      ['Revoked'],
    );
    assert.equal((await place.keys('rotate', keyId)).code, 1);
  });

  it('what is wrong is one line and exit code 2, and nothing is made', async () => {
    using place = emptyPlace();
    const table: [string[], RegExp][] = [
      [
        ['create', '--tenant', 'acme', '--role', 'admin'],
        /"admin" is no role; there are Admin, Operator, Auditor, Viewer/,
      ],
      [['create', '--tenant', 'acme', '--scope', 'audit'], /"audit" is no scope; there are audit:write, /],
      [['create', '--tenant', 'a b', '--role', 'Admin'], /"a b" is no tenant: it is 1 to 64 letters/],
      [['create', '--tenant', 'acme'], /without --role and --scope it could do nothing/],
      [['create', '--tenant', 'acme', '--role', 'Admin', '--clearance', 'Top'], /"Top" is no classification/],
      [
        ['create', '--tenant', 'acme', '--role', 'Admin', '--expires-in', 'soon'],
        /--expires-in is "soon"; allowed: such as 90d/,
      ],
      [
        ['create', '--tenant', 'acme', '--role', 'Admin', '--expires-in', '0d'],
        /--expires-in is 0d; it must be longer/,
      ],
      [['create', '--tenant', 'acme', '--role', 'Admin', '--name', ''], /--name is 1 to 200 characters/],
    ];
    for (const [args, message] of table) {
      const { code, stdout, stderr } = await place.run(['keys', ...args]);
      assert.deepEqual({ code, stdout }, { code: 2, stdout: '' }, args.join(' '));
      assert.match(stderr, new RegExp(`^tallystick: ${message.source}[^\n]*\n$`), args.join(' '));
    }
    assert.ok(!existsSync(place.data), 'a data directory was made');
  });

  it('a key id that is none is not repeated: it may be a pasted key', async () => {
    using place = await setUp();
    const { key } = await place.make('--tenant', 'acme', '--role', 'Viewer');
    const { code, stderr } = await place.keys('revoke', key);
    assert.equal(code, 2);
    assert.ok(!stderr.includes(key.slice(31, 63)));
  });

  it('a key that is not there is exit code 1', async () => {
    using place = await setUp();
    const { code, stderr } = await place.keys('revoke', '01KE0000000000000000000042');
    assert.deepEqual([code, stderr], [1, 'tallystick: There is no API key 01KE0000000000000000000042.\n']);
  });

  it('where there is no data every command is refused with one line and exit code 2, and makes none', async () => {
    using place = emptyPlace();
    const commands = [
      ['create', '--tenant', 'acme', '--role', 'Viewer'],
      ['list'],
      ['rotate', '01KE0000000000000000000042'],
      ['revoke', '01KE0000000000000000000042'],
    ];
    for (const args of commands) {
      const { code, stdout, stderr } = await place.run(['keys', ...args]);
      assert.deepEqual({ code, stdout }, { code: 2, stdout: '' }, args.join(' '));
      const line = `tallystick: there is no data in ${place.data}: name the data directory`;
      assert.ok(stderr.startsWith(line), stderr);
      assert.match(stderr, /^[^\n]* Storage__DataDirectory or --config, [^\n]*\n$/);
    }
    assert.deepEqual(readdirSync(place.folder), []);
  });

  it('a directory that holds other things has no data, and gets none', async () => {
    const args = ['keys', 'create', '--tenant', 'acme', '--role', 'Viewer'];
    await using command = start(args, { files: { 'notes.txt': '' }, env: { Storage__DataDirectory: '.' } });
    const { code, stderr } = await command.ended;
    assert.equal(code, 2);
    assert.match(stderr, new RegExp(`there is no data in ${command.folder}:`));
    assert.deepEqual(readdirSync(command.folder), ['notes.txt']);
  });

  it('a data directory that cannot be looked into is not taken for one without data', async () => {
    using place = emptyPlace();
    symlinkSync(place.data, place.data);
    const { code, stderr } = await place.run(['keys', 'list']);
    assert.equal(code, 1);
    assert.match(stderr, /^tallystick: cannot look into the data directory \S+ \(ELOOP\)\n$/);
  });

  it('data of an older or a newer program is neither read nor changed', async () => {
    using place = await setUp();
    const { keyId } = await place.make('--tenant', 'acme', '--role', 'Viewer');
    const file = join(place.data, 'journal.db');
    const commands = [
      ['list'],
      ['create', '--tenant', 'acme', '--role', 'Viewer'],
      ['rotate', keyId],
      ['revoke', keyId],
    ];
    for (const [version, line] of [
      [0, /schema version 0; this program needs version [1-9]\d*: .*`tallystick migrate`/],
      [99, /schema version 99; .* newer one/],
    ] as const) {
      {
        using db = new DatabaseSync(file);
        db.exec(`PRAGMA user_version = ${version}`);
      }
      const before = readFileSync(file);
      for (const args of commands) {
        const { code, stdout, stderr } = await place.keys(...args);
        assert.deepEqual({ code, stdout }, { code: 1, stdout: '' }, args.join(' '));
        assert.match(stderr, new RegExp(`^tallystick: \\S+journal\\.db has ${line.source}[^\n]*\n$`));
        assert.ok(readFileSync(file).equals(before), args.join(' '));
      }
    }
  });

  it('to list keys writes nothing', async () => {
    using place = await setUp();
    await place.make('--tenant', 'acme', '--role', 'Viewer');
    const file = join(place.data, 'journal.db');
    const before = readFileSync(file);
    const { code, stdout } = await run(['keys', 'list', '--json'], {
      env: { ...place.env, Log__Origin: 'audit.example.com' },
    });
    assert.equal(code, 0, 'only commands that write to the log have to agree on its name');
    assert.equal((JSON.parse(stdout) as Listed[]).length, 2);
    assert.ok(readFileSync(file).equals(before));
  });

  it('wrong settings and a file named by --config count as for the service', async () => {
    using place = await setUp();
    const args = ['keys', 'create', '--tenant', 'acme', '--role', 'Viewer'];
    assert.equal((await run(args, { env: { Server__Port: 'x' } })).code, 2);
    const files = { 'my.json': JSON.stringify({ Storage: { DataDirectory: place.data } }) };
    assert.equal((await run([...args, '--config', 'my.json'], { files })).code, 0);
    assert.equal((await place.list()).length, 1);
  });
});
