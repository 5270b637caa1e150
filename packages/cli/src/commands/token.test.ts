import assert from 'node:assert/strict';
import { createPrivateKey, createPublicKey, verify } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { emptyPlace, placeWithData } from '../testing/place.ts';

const partOf = (token: string, i: number) =>
  JSON.parse(Buffer.from(token.split('.')[i]!, 'base64url').toString()) as Record<string, unknown>;

describe('tallystick token', { concurrency: 3 }, () => {
  it('prints a token alone, signed by a key that only its owner can read', async () => {
    using place = await placeWithData();
    const { code, stdout, stderr } = await place.run([
      'token',
      '--tenant',
      'acme',
      '--role',
      'Viewer',
      '--subject',
      'ana',
    ]);
    assert.equal(code, 0);
    assert.equal(stderr, `tallystick: made the key that signs tokens, in ${place.data}\n`);
    assert.match(stdout, /^[\w-]+\.[\w-]+\.[\w-]+\n$/);
    const file = join(place.data, 'token-key.pem');
    assert.equal(statSync(file).mode & 0o777, 0o600);
    const [header, payload, signature] = stdout.trim().split('.') as [string, string, string];
    const publicKey = createPublicKey(createPrivateKey(readFileSync(file)));
    const isSigned = verify(
      null,
      Buffer.from(`${header}.${payload}`),
      publicKey,
      Buffer.from(signature, 'base64url'),
    );
    assert.ok(isSigned);
    assert.equal(partOf(stdout, 0)['alg'], 'EdDSA');
    const { iat, exp, nbf, ...claims } = partOf(stdout, 1) as { iat: number; exp: number; nbf: number };
    assert.deepEqual([exp - iat, nbf], [3600, iat]);
    assert.deepEqual(claims, {
      iss: 'tallystick',
      aud: 'tallystick',
      sub: 'ana',
      tenant_id: 'acme',
      roles: ['Viewer'],
      scope: 'audit:read audit:verify',
    });
  });

  it('narrows the scopes of the roles to those named, and uses the same key again', async () => {
    using place = await placeWithData();
    const claimsFor = async (...args: string[]) => {
      const { stdout } = await place.run(['token', '--tenant', 'acme', ...args]);
      return { ...partOf(stdout, 1), kid: partOf(stdout, 0)['kid'] } as Record<string, unknown>;
    };
    const one = await claimsFor('--role', 'Admin', '--scope', 'audit:read', '--clearance', 'Internal');
    assert.deepEqual([one['roles'], one['scope'], one['clearance']], [['Admin'], 'audit:read', 'Internal']);
    assert.equal(one['sub'], 'cli-admin-internal', 'tokens that see different things are different callers');
    const several = await claimsFor('--role', 'Viewer', 'Operator', '--scope', 'audit:write audit:verify');
    assert.deepEqual(
      [several['roles'], several['scope']],
      [['Viewer', 'Operator'], 'audit:write audit:verify'],
    );
    const two = await claimsFor('--scope', 'audit:write', '--expires-in', '30s');
    assert.deepEqual(
      [two['scope'], two['roles'], Number(two['exp']) - Number(two['iat'])],
      ['audit:write', undefined, 30],
    );
    assert.equal(one['kid'], two['kid']);
  });

  it('what is wrong is one line and exit code 2', async () => {
    using place = emptyPlace();
    const table: [string[], RegExp][] = [
      [['--tenant', '*', '--role', 'Admin'], /"\*" is no tenant/],
      [['--tenant', 'acme', '--role', 'Owner'], /"Owner" is no role/],
      [['--tenant', 'acme'], /without --role and --scope/],
      [
        ['--tenant', 'acme', '--role', 'Viewer', '--scope', 'audit:read', 'audit:write'],
        /--scope audit:write is not among the scopes of --role Viewer: audit:read, audit:verify/,
      ],
      [['--tenant', 'acme', '--role', 'Admin', '--expires-in', '1'], /--expires-in is "1"/],
      [
        ['--tenant', 'acme', '--role', 'Admin', '--expires-in', '86401s'],
        /--expires-in is 86401s; at most 24h/,
      ],
      [['--tenant', 'acme', '--role', 'Admin', '--expires-in', '365d'], /--expires-in is 365d; at most 24h/],
      [['--tenant', 'acme', '--role', 'Admin', '--subject', 'a\nb'], /--subject is 1 to 512 characters/],
    ];
    for (const [args, message] of table) {
      const { code, stdout, stderr } = await place.run(['token', ...args]);
      assert.deepEqual({ code, stdout }, { code: 2, stdout: '' }, args.join(' '));
      assert.match(stderr, new RegExp(`^tallystick: ${message.source}[^\n]*\n$`), args.join(' '));
    }
    assert.ok(!existsSync(place.data), 'a data directory was made');
  });

  it('where there is no data it is refused with one line and exit code 2, and none is made', async () => {
    using place = emptyPlace();
    const { code, stdout, stderr } = await place.run(['token', '--tenant', 'acme', '--role', 'Viewer']);
    assert.deepEqual({ code, stdout }, { code: 2, stdout: '' });
    assert.match(
      stderr,
      /^tallystick: there is no data in [^\n]*Storage__DataDirectory or --config[^\n]*\n$/,
    );
    assert.deepEqual(readdirSync(place.folder), []);
  });

  it('a token works for a day at most', async () => {
    using place = await placeWithData();
    const { stdout } = await place.run([
      'token',
      '--tenant',
      'acme',
      '--role',
      'Viewer',
      '--expires-in',
      '1d',
    ]);
    const { iat, exp } = partOf(stdout, 1);
    assert.equal(Number(exp) - Number(iat), 86_400);
  });

  it('with an identity provider in the settings no token is made here', async () => {
    using place = await placeWithData();
    const { code, stdout, stderr } = await place.run(['token', '--tenant', 'acme', '--role', 'Admin'], {
      Authentication__Issuers__0__Issuer: 'https://id.example.com',
      Authentication__Issuers__0__Audience: 'audit',
    });
    assert.deepEqual({ code, stdout }, { code: 2, stdout: '' });
    assert.match(stderr, /^tallystick: Authentication__Issuers is set: tokens come from there/);
  });
});
