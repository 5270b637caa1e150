// Settings that must agree, as an operator meets them: in the environment, with others wrong beside them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadConfig } from './config.ts';
import { ConfigError } from './config-error.ts';
import { requireServable } from './rules.ts';

type Variables = Record<string, string>;

/** The lines that the start would print; there is no settings file. */
function problems(variables: Variables): readonly string[] {
  try {
    loadConfig({ variables, workingDirectory: import.meta.dirname });
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error));
    return error.problems;
  }
  return [];
}

const names = (lines: readonly string[]) => lines.map((line) => line.split(/[: ]/)[0]);

test('settings that must agree are checked together', () => {
  const table: [Variables, RegExp][] = [
    [{ RateLimiting__EnableRateLimiting: 'true' }, /^RateLimiting__GlobalLimiter__PermitLimit is missing/],
    [{ Server__Tls__Key: 'k.pem' }, /^Server__Tls__Key is given without Server__Tls__Certificate/],
    [{ Server__Tls__Certificate: 'c.pem' }, /^Server__Tls__Certificate is given without Server__Tls__Key/],
    [
      { Storage__OwnerUrl: 'postgres://owner:hunter2@db/audit' },
      /^Storage__OwnerUrl is given without Storage__Url; it is the owner of that database$/,
    ],
    [
      { Storage__IndexUrl: 'postgres://index:hunter2@db/audit' },
      /^Storage__IndexUrl is given without Storage__Url; it is another login to that database$/,
    ],
    [
      { Storage__RetentionUrl: 'postgres://retention:hunter2@db/audit' },
      /^Storage__RetentionUrl is given without Storage__Url; it is another login to that database$/,
    ],
    [{ Storage__Distribute: 'true' }, /^Storage__Distribute is true without Storage__Url; only the tables/],
    [{ Grpc__Port: '8080' }, /^Grpc__Port: 8080 is also Server__Port/],
    [
      { ApiVersions__V1__DeprecationDate: '2027-02-01', ApiVersions__V1__SunsetDate: '2027-01-01' },
      /^ApiVersions__V1__SunsetDate: 2027-01-01 lies before/,
    ],
  ];
  for (const [variables, expected] of table) {
    const [line, ...more] = problems(variables);
    assert.match(line ?? '', expected);
    assert.deepEqual(more, []);
  }
});

const issuerAt = (Issuer: string, JwksUri?: string): Variables => ({
  Authentication__Issuers__0__Issuer: Issuer,
  Authentication__Issuers__0__Audience: 'audit',
  ...(JwksUri === undefined ? {} : { Authentication__Issuers__0__JwksUri: JwksUri }),
});

test('an identity provider needs https; outside Production, http on loopback will do', () => {
  const [secure, local, other] = ['https://id.example', 'http://127.0.0.1:9', 'http://id.example'];
  const table: [issuer: string, jwksUri: string | undefined, environments: string][] = [
    [secure, undefined, 'Production Development Test'],
    // An issuer whose keys are named elsewhere is a name and is never asked.
    [other, secure, 'Production Development Test'],
    [local, undefined, 'Development Test'],
    ['http://localhost:9/realm', undefined, 'Development Test'],
    ['http://[::1]', undefined, 'Development Test'],
    [secure, `${local}/keys`, 'Development Test'],
    [other, undefined, ''],
    [secure, other, ''],
    ['http://localhost.example', undefined, ''],
    ['http://127.0.0.1.example', undefined, ''],
    ['http://10.0.0.1', undefined, ''],
  ];
  for (const [issuer, jwksUri, environments] of table) {
    for (const Environment of ['Production', 'Development', 'Test']) {
      const lines = problems({ ...issuerAt(issuer, jwksUri), Environment });
      const isAllowed = environments.includes(Environment);
      const setting = `Authentication__Issuers__0__${jwksUri === undefined ? 'Issuer' : 'JwksUri'}`;
      assert.deepEqual(names(lines), isAllowed ? [] : [setting], `${issuer} ${jwksUri} ${Environment}`);
    }
  }
  assert.deepEqual(problems(issuerAt(other)), [
    'Authentication__Issuers__0__Issuer: http://id.example is plain http; an identity provider needs https',
  ]);
  assert.deepEqual(problems({ ...issuerAt(other), Environment: 'Test' }), [
    'Authentication__Issuers__0__Issuer: http://id.example is plain http; an identity provider needs https, or in Test http on loopback',
  ]);
  assert.deepEqual(names(problems({ ...issuerAt(local), Environment: 'Tset' })), ['Environment']);
});

const VAULT = { Encryption__Provider: 'Vault', Encryption__Vault__Address: 'https://vault.example:8200' };
const WITH_TOKEN = { ...VAULT, Encryption__Vault__Key: 'k', Encryption__Vault__Token: 's.hunter2' };
const KMS = { Encryption__Provider: 'AwsKms', Encryption__AwsKms__KeyId: 'alias/audit' };

test('a provider of the keyring needs its key and a way in, with one line for each mistake', () => {
  const table: [Variables, RegExp[]][] = [
    [WITH_TOKEN, []],
    [KMS, []],
    [{ ...WITH_TOKEN, Encryption__Provider: 'File' }, []],
    [{ Encryption__Provider: 'AwsKms' }, [/^Encryption__AwsKms__KeyId is missing; AwsKms needs the ARN/]],
    [
      { Encryption__Provider: 'Vault' },
      [
        /^Encryption__Vault__Address is missing; Vault needs it$/,
        /^Encryption__Vault__Key is missing; Vault needs it$/,
        /^Encryption__Vault__Token, .*TokenFile, .*Kubernetes__Role: one of them is missing/,
      ],
    ],
    [
      { ...WITH_TOKEN, Encryption__Vault__TokenFile: '/run/token' },
      [/^Encryption__Vault__Token, Encryption__Vault__TokenFile: only one of them/],
    ],
    [
      { ...VAULT, Encryption__Vault__Key: 'a/b', Encryption__Vault__Token: 't' },
      [/^Encryption__Vault__Key: "a\/b"/],
    ],
    [{ ...WITH_TOKEN, Encryption__Vault__Mount: '../sys' }, [/^Encryption__Vault__Mount: "..\/sys"/]],
    [
      { ...WITH_TOKEN, Encryption__Vault__Token: 'hunter2 hunter2' },
      [/^Encryption__Vault__Token: the value given \(not shown, it is a secret\)/],
    ],
    [
      { ...WITH_TOKEN, Encryption__Vault__Address: 'http://127.0.0.1:8200' },
      [
        /^Encryption__Vault__Address: http:\/\/127.0.0.1:8200 is plain http; a provider of the keyring needs https$/,
      ],
    ],
    [{ ...WITH_TOKEN, Encryption__Vault__Address: 'http://127.0.0.1:8200', Environment: 'Test' }, []],
    [
      { ...KMS, Encryption__AwsKms__Endpoint: 'http://kms.example', Environment: 'Test' },
      [/^Encryption__AwsKms__Endpoint: .* needs https, or in Test http on loopback$/],
    ],
  ];
  for (const [variables, expected] of table) {
    const lines = problems(variables);
    assert.equal(lines.length, expected.length, lines.join('\n'));
    for (const [i, line] of lines.entries()) assert.match(line, expected[i]!);
    assert.doesNotMatch(lines.join(), /hunter2/);
  }
});

test('a previous provider is another one, or has another key', () => {
  const [previous, key] = ['Encryption__PreviousProvider', 'Encryption__PreviousKey'];
  const table: [Variables, RegExp | undefined][] = [
    [{ ...WITH_TOKEN, [previous]: 'File' }, undefined],
    [{ ...WITH_TOKEN, [previous]: 'Vault', [key]: 'old' }, undefined],
    [{ ...WITH_TOKEN, Encryption__Provider: 'File', [previous]: 'Vault' }, undefined],
    // The key from before is all that is known of the provider from before.
    [{ ...WITH_TOKEN, [previous]: 'AwsKms', [key]: 'alias/old' }, undefined],
    [{ ...WITH_TOKEN, [previous]: 'AwsKms' }, /^Encryption__AwsKms__KeyId is missing/],
    [
      { ...WITH_TOKEN, [key]: 'old' },
      /^Encryption__PreviousKey is given without Encryption__PreviousProvider/,
    ],
    [
      { ...WITH_TOKEN, [previous]: 'File', [key]: 'old' },
      /^Encryption__PreviousKey is given, and .* is File/,
    ],
    [
      { [previous]: 'File' },
      /^Encryption__PreviousProvider: File is also Encryption__Provider; leave it out$/,
    ],
    [
      { ...WITH_TOKEN, [previous]: 'Vault' },
      /Vault is also Encryption__Provider; name the key that it had by/,
    ],
  ];
  for (const [variables, expected] of table) {
    const [line, ...more] = problems(variables);
    if (expected === undefined) assert.equal(line, undefined);
    else assert.match(line ?? '', expected);
    assert.deepEqual(more, []);
  }
});

test('on PostgreSQL in Production a service needs places for the anchor and the keyring, and other commands do not', () => {
  const servable = (variables: Variables) =>
    requireServable(loadConfig({ variables, workingDirectory: import.meta.dirname }).config);
  const onDatabase = { Storage__Url: 'postgres://app:hunter2@db/audit' };
  for (const named of [{}, { Environment: 'Production' }, { Encryption__Classifications: 'None' }]) {
    assert.throws(
      () => servable({ ...onDatabase, ...named }),
      (error) =>
        error instanceof ConfigError &&
        /^Log__Anchor is missing;.*\nEncryption__Keyring is missing;/.test(error.message),
    );
  }
  for (const enough of [
    { Log__Anchor: '/mnt/anchor', Encryption__Keyring: '/mnt/keyring' },
    { Environment: 'Test' },
    { Environment: 'Development' },
  ])
    servable({ ...onDatabase, ...enough });
  servable({});
});

const PORTS = { Server__Port: '9000', Grpc__Port: '9000' };
const LIMITED = { RateLimiting__EnableRateLimiting: 'true' };
const DATES = { ApiVersions__V2__DeprecationDate: '2027-02-01', ApiVersions__V2__SunsetDate: '2027-01-01' };

test('a wrong setting hides no rule about others', () => {
  const wrong = { Mcp__Enabled: 'x', Server__Hots: 'a', Server__Tls__Key: 'k.pem' };
  const found = problems({ ...wrong, ...PORTS, ...LIMITED, ...DATES, Storage__OwnerUrl: 'mysql://db' });
  assert.deepEqual(names(found), [
    'Mcp__Enabled',
    'Storage__OwnerUrl',
    'Server__Hots',
    'Storage__OwnerUrl',
    'Server__Tls__Key',
    'Grpc__Port',
    'RateLimiting__GlobalLimiter__PermitLimit',
    'ApiVersions__V2__SunsetDate',
  ]);
  for (const line of found) assert.ok(!line.includes('\n'), line);
});

test('whether a setting is given is known also where its value is wrong', () => {
  const lines = problems({ Server__Tls__Certificate: '' });
  assert.match(lines[0] ?? '', /^Server__Tls__Certificate: "" .*allowed: a path$/);
  assert.deepEqual(lines.slice(1), [
    'Server__Tls__Certificate is given without Server__Tls__Key; TLS needs both',
  ]);
});

test('a rule is not judged by a setting that was written wrongly, nor by its default', () => {
  const table: [Variables, only: string][] = [
    [{ Server__Port: 'x', Grpc__Port: '8080' }, 'Server__Port'],
    [{ Server__Prot: '9000', Grpc__Port: '8080' }, 'Server__Prot'],
    [{ Server__Port: '8080', Grpc__Port: '8O8O' }, 'Grpc__Port'],
    [
      { ...LIMITED, RateLimiting__GlobalLimiter__PermitLimit: '0' },
      'RateLimiting__GlobalLimiter__PermitLimit',
    ],
    [
      { ...LIMITED, RateLimiting__GlobalLimiter__PermitLimits: '5' },
      'RateLimiting__GlobalLimiter__PermitLimits',
    ],
    [{ RateLimiting__EnableRateLimiting: 'yes' }, 'RateLimiting__EnableRateLimiting'],
    [{ ...DATES, ApiVersions__V2__SunsetDate: '2027' }, 'ApiVersions__V2__SunsetDate'],
    [{ Server__Tls__Certificate: 'c.pem', Server__Tls__Kye: 'k.pem' }, 'Server__Tls__Kye'],
  ];
  for (const [variables, only] of table) {
    const lines = problems(variables);
    assert.deepEqual(names(lines), [only], lines.join('\n'));
  }
  const both = problems({ ...PORTS, Server__Prot: '1' });
  assert.ok(
    both.includes('Grpc__Port: 9000 is also Server__Port; gRPC needs a port of its own'),
    'written too',
  );
});
