import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { inspect } from 'node:util';
import { loadConfig } from './config.ts';
import { ConfigError } from './config-error.ts';
import { secretTexts } from './secret.ts';
import { showAsJson, showAsText } from './show.ts';

const folder = mkdtempSync(join(tmpdir(), 'tallystick-config-'));
after(() => rmSync(folder, { recursive: true }));

type Variables = Record<string, string>;

const load = (variables: Variables = {}) =>
  loadConfig({ variables, workingDirectory: join(folder, 'empty') });

function loadFile(settings: unknown, variables: Variables = {}) {
  const configFile = join(folder, 'settings.json');
  writeFileSync(configFile, typeof settings === 'string' ? settings : JSON.stringify(settings));
  return loadConfig({ variables, workingDirectory: folder, configFile });
}

function problems(run: () => unknown): readonly string[] {
  try {
    run();
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error));
    return error.problems;
  }
  return [];
}

test('without any setting the defaults hold', () => {
  const { config } = load({ PATH: '/bin', HOME: '/root', npm_config__x: '1' });
  assert.equal(config.environment, 'Production');
  assert.deepEqual([config.server.host, config.server.port], ['127.0.0.1', 8080]);
  assert.equal(config.server.publicUrl, undefined);
  assert.equal(config.storage.dataDirectory, './data');
  assert.equal(config.mcp.enabled, true);
  assert.equal(config.tenants.autoProvision, true);
  assert.equal(config.streams.sealAfter.ms, 86_400_000);
  assert.equal(config.streams.sealAfterEvents, 1_000_000);
  assert.equal(config.rateLimiting.enableRateLimiting, false);
  assert.deepEqual(config.rateLimiting.globalLimiter, {
    window: { ms: 1000 },
    autoReplenishment: true,
    permitLimit: undefined,
    queueLimit: 0,
  });
  assert.equal(config.apiVersions.v1.state, 'Active');
  assert.deepEqual(config.authentication.issuers, []);
  assert.equal(config.adminKey, undefined);
});

test('no secret has a default', () => {
  for (const { name, value } of load().settings) {
    if (/Url$|ADMIN_KEY$/.test(name)) assert.equal(value, undefined, name);
  }
});

test('the environment names a setting by its section path', () => {
  const { config } = load({
    Environment: 'Test',
    Server__Port: '0',
    RateLimiting__EnableRateLimiting: 'True',
    RateLimiting__GlobalLimiter__PermitLimit: '5',
    RateLimiting__GlobalLimiter__Window: '00:01:00',
    Log__CheckpointInterval: 'PT0.5S',
    Streams__SealAfter: '1.12:00:00',
    ApiVersions__V1__State: 'Deprecated',
    ApiVersions__V1__SunsetDate: '2028-02-29',
  });
  assert.equal(config.environment, 'Test');
  assert.equal(config.server.port, 0);
  assert.equal(config.rateLimiting.globalLimiter.permitLimit, 5);
  assert.equal(config.rateLimiting.globalLimiter.window.ms, 60_000);
  assert.equal(config.log.checkpointInterval.ms, 500);
  assert.equal(config.streams.sealAfter.ms, 129_600_000);
  assert.deepEqual(config.apiVersions.v1, {
    state: 'Deprecated',
    deprecationDate: undefined,
    sunsetDate: '2028-02-29',
  });
});

test('the file is read first and the environment wins over it', () => {
  const file = { Server: { Host: '0.0.0.0', Port: 9000 }, Mcp: { Enabled: false }, Redis: { Url: null } };
  const { config, settings } = loadFile(file, { Server__Port: '9001' });
  assert.deepEqual([config.server.host, config.server.port, config.mcp.enabled], ['0.0.0.0', 9001, false]);
  const source = (name: string) => settings.find((setting) => setting.name === name)?.source;
  assert.deepEqual(['Server__Host', 'Server__Port', 'Grpc__Port'].map(source), [
    'file',
    'environment',
    'default',
  ]);
});

test('tallystick.json in the working directory is read when no file is named', () => {
  writeFileSync(join(folder, 'tallystick.json'), '{"Server":{"Port":9100}}');
  assert.equal(loadConfig({ variables: {}, workingDirectory: folder }).config.server.port, 9100);
});

test('a list is given by index, as one text, or as an array', () => {
  const proxies = (variables: Variables, file: unknown = {}) =>
    loadFile(file, variables).config.server.trustedProxies;
  const [first, second] = ['10.0.0.0/8', '::1'];
  assert.deepEqual(proxies({ Server__TrustedProxies__0: first, Server__TrustedProxies__1: second }), [
    first,
    second,
  ]);
  assert.deepEqual(proxies({ Server__TrustedProxies: `${first}, ${second}` }), [first, second]);
  const inFile = { Server: { TrustedProxies: [first, second] } };
  assert.deepEqual(proxies({}, inFile), [first, second]);
  assert.deepEqual(proxies({}, { Server: { TrustedProxies: [] } }), []);
  assert.deepEqual(
    proxies({ Server__TrustedProxies__1: '::2' }, inFile),
    [first, '::2'],
    'one item replaced',
  );
  assert.deepEqual(proxies({ Server__TrustedProxies: '::2' }, inFile), ['::2'], 'all replaced');
  const text = { Server: { TrustedProxies: first } };
  assert.deepEqual(proxies({ Server__TrustedProxies__0: '::2' }, text), ['::2'], 'a text replaced by items');
});

test('numbered sections are read with their own defaults', () => {
  const { config } = loadFile(
    { Authentication: { Issuers: [{ Issuer: 'https://a.example', Audience: 'audit' }] } },
    {
      Authentication__Issuers__0__RequireScope: 'false',
      Authentication__Issuers__1__Issuer: 'https://b.example',
      Authentication__Issuers__1__Audience: 'audit',
      Authentication__Issuers__1__Algorithms__0: 'ES256',
    },
  );
  const [a, b] = config.authentication.issuers;
  assert.deepEqual([a?.issuer, a?.requireScope, a?.tenantClaim], ['https://a.example', false, 'tenant_id']);
  assert.deepEqual([b?.issuer, b?.requireScope, b?.algorithms], ['https://b.example', true, ['ES256']]);
});

test('the configuration is frozen through and through', () => {
  const { config } = load({ Server__TrustedProxies: '::1' });
  const loose: string[] = [];
  const walk = (value: unknown, name: string) => {
    if (typeof value !== 'object' || value === null) return;
    if (!Object.isFrozen(value)) loose.push(name);
    for (const [key, part] of Object.entries(value)) walk(part, `${name}.${key}`);
  };
  walk(config, 'config');
  assert.deepEqual(loose, []);
});

const WRONG: [name: string, value: string, allowed: RegExp][] = [
  ['Environment', 'production', /allowed: one of Development, Test, Production$/],
  ['Server__Port', '80a', /allowed: a port, 0 to 65535/],
  ['Server__Port', '65536', /allowed: a port/],
  ['Server__Port', '-1', /allowed: a port/],
  ['Server__Port', '8080.0', /allowed: a port/],
  ['Server__Port', '', /allowed: a port/],
  ['Server__Host', 'a b', /allowed: an IP address or a host name/],
  ['Server__Host', '1.2.3', /allowed: an IP address or a host name/],
  ['Server__Host', '-x.example', /allowed: an IP address or a host name/],
  ['Server__PublicUrl', 'ftp://x', /allowed: a URL that starts with https:\/\/ or http:\/\//],
  ['Server__PublicUrl', 'audit.example.com', /allowed: a URL/],
  ['Server__TrustedProxies', '10.0.0.0/33', /allowed: a list, each an IP address/],
  ['Server__TrustedProxies__0', '300.1.1.1', /allowed: a list, each an IP address/],
  ['Server__TrustedProxies', '::1/129', /allowed: a list/],
  ['Server__TrustedProxies', '10.0.0.0/8,,::1', /allowed: a list/],
  ['Mcp__Enabled', 'yes', /allowed: true or false$/],
  ['Mcp__Enabled', '1', /allowed: true or false$/],
  ['Streams__SealAfter', '0', /allowed: a duration above zero/],
  ['Streams__SealAfter', 'PT0S', /allowed: a duration above zero/],
  ['Streams__SealAfter', 'P1M', /allowed: a duration above zero/],
  ['Streams__SealAfterEvents', '0', /allowed: a whole number, at least 1$/],
  ['Streams__SealAfterEvents', '1e6', /allowed: a whole number/],
  ['RateLimiting__GlobalLimiter__Window', '00:00:00', /allowed: a duration above zero/],
  ['RateLimiting__GlobalLimiter__PermitLimit', '0', /allowed: a whole number, at least 1$/],
  ['RateLimiting__GlobalLimiter__QueueLimit', '-1', /allowed: a whole number, at least 0$/],
  ['ApiVersions__V1__State', 'Gone', /allowed: one of Active, Deprecated, Sunset, Retired$/],
  ['ApiVersions__V2__SunsetDate', '2027-02-29', /allowed: a date such as/],
  ['ApiVersions__V2__SunsetDate', '2027', /allowed: a date such as/],
  ['ApiVersions__V2__SunsetDate', '2027-02-28T25:00:00Z', /allowed: a date such as/],
  ['Storage__DataDirectory', '', /allowed: a path$/],
  ['Log__Origin', 'https://x', /allowed: a name such as/],
  ['Telemetry__Level', 'Verbose', /allowed: one of Debug, Info, Warn, Error$/],
];

test('a wrong value is one line: the setting, the value, what is allowed', () => {
  for (const [name, value, allowed] of WRONG) {
    const [line, ...more] = problems(() => load({ [name]: value }));
    assert.deepEqual(more, [], name);
    assert.ok(line?.startsWith(name.replace(/__0$/, '')), line);
    assert.ok(
      line?.includes(JSON.stringify(value)) && line.includes('in the environment is not allowed'),
      line,
    );
    assert.match(line ?? '', allowed);
    assert.ok(!line?.includes('\n'));
  }
});

test('a wrong type in the file is reported, not converted', () => {
  for (const settings of [
    { Server: { Port: '80a' } },
    { Server: { Port: 80.5 } },
    { Server: { Port: true } },
    { Server: { Host: 5 } },
    { Mcp: { Enabled: 1 } },
    { Streams: { SealAfter: 5 } },
    { Server: { TrustedProxies: [5] } },
  ]) {
    const [line, ...more] = problems(() => loadFile(settings));
    assert.match(line ?? '', /in the file is not allowed; allowed: /, JSON.stringify(settings));
    assert.deepEqual(more, []);
  }
});

test('all problems are reported at once', () => {
  const found = problems(() =>
    loadFile({ Server: { Prot: 1, Host: '' }, Nonsense: { X: 1 } }, { Server__Port: 'x', Mcp__Enabled: 'x' }),
  );
  assert.deepEqual(
    found.map((line) => line.split(/[: ]/)[0]),
    ['Server__Host', 'Server__Port', 'Mcp__Enabled', 'Server__Prot', 'Nonsense__X'],
  );
});

test('a typo is not passed over, and the nearest setting is named', () => {
  const table: [string, string][] = [
    ['Server__Prot', 'Server__Port'],
    ['SERVER__PORT', 'Server__Port'],
    ['server__port', 'Server__Port'],
    ['RateLimiting__GlobalLimiter__PermitLimits', 'RateLimiting__GlobalLimiter__PermitLimit'],
    ['Authentication__Issuers__0__Isuer', 'Authentication__Issuers__0__Issuer'],
  ];
  for (const [name, meant] of table) {
    const lines = problems(() => load({ [name]: '1' }));
    assert.ok(
      lines.includes(`${name} in the environment is not a setting; did you mean ${meant}?`),
      lines.join('\n'),
    );
  }
  assert.deepEqual(
    problems(() => load({ Server__Something__Else: '1' })),
    ['Server__Something__Else in the environment is not a setting'],
  );
});

test('in the file a section of any other name is not passed over', () => {
  assert.deepEqual(
    problems(() => loadFile({ Storge: { DataDirectory: '/x' }, Server_Port: 1, Kestrel: {} })),
    [
      'Storge__DataDirectory in the file is not a setting; did you mean Storage__DataDirectory?',
      'Server_Port in the file is not a setting; did you mean Server__Port?',
      'Kestrel in the file is not a setting',
    ],
  );
});

test('a gap in a numbered list is reported', () => {
  assert.ok(
    problems(() => load({ Server__TrustedProxies__1: '::1' })).includes(
      'Server__TrustedProxies__0 is missing; Server__TrustedProxies is numbered from 0 without gaps',
    ),
  );
});

test('an issuer without its required settings is reported', () => {
  const lines = problems(() => load({ Authentication__Issuers__0__TenantClaim: 'org' }));
  assert.deepEqual(
    lines.map((line) => line.split(' is missing')[0]),
    ['Authentication__Issuers__0__Issuer', 'Authentication__Issuers__0__Audience'],
  );
});

test('a file that cannot be read or parsed is one line, and shows nothing of its content', () => {
  const missing = join(folder, 'missing.json');
  assert.deepEqual(
    problems(() => loadConfig({ variables: {}, workingDirectory: folder, configFile: missing })),
    [`cannot read the settings file ${missing} (ENOENT)`],
  );
  const [broken] = problems(() => loadFile('{"Redis":{"Url":"redis://:hunter2@x" "'));
  assert.match(broken ?? '', /settings\.json is not JSON \(line 1 column \d+\)$/);
  assert.match(problems(() => loadFile('[]'))[0] ?? '', /must hold one JSON object$/);
});

const SECRETS: Variables = {
  Redis__Url: 'redis://:hunter2@cache',
  Storage__Url: 'postgres://app:hunter2@db/audit',
  Storage__OwnerUrl: 'postgres://owner:hunter2@db/audit',
  Storage__IndexUrl: 'postgres://index:hunter2@db/audit',
  Storage__RetentionUrl: 'postgres://retention:hunter2@db/audit',
  TALLYSTICK_ADMIN_KEY: 'hunter2-hunter2-hunter2',
};

test('secrets are in no output, whichever way the configuration is printed', () => {
  const { config, settings } = load(SECRETS);
  assert.equal(config.adminKey?.reveal(), SECRETS['TALLYSTICK_ADMIN_KEY']);
  const printed = [
    JSON.stringify(config),
    inspect(config, { depth: 9, showHidden: true }),
    `${String(config.adminKey)} ${String(config.redis.url)}`,
    showAsText(settings),
    showAsJson(settings),
  ];
  for (const text of printed) assert.ok(!text.includes('hunter2') && text.includes('***'), text);
});

test('all secret texts of a configuration can be found, passwords inside URLs too', () => {
  const { config } = load({
    TALLYSTICK_ADMIN_KEY: 'an-admin-key-of-some-length',
    Redis__Url: 'redis://:p%40ss@cache',
    Storage__Url: 'postgres://app@db/audit?password=in%20sight',
  });
  assert.deepEqual(secretTexts(config).sort(), [
    'an-admin-key-of-some-length',
    'in sight',
    'p%40ss',
    'p@ss',
    'postgres://app@db/audit?password=in%20sight',
    'redis://:p%40ss@cache',
  ]);
  assert.ok(secretTexts(load({ Redis__Url: 'redis://:50%@cache' }).config).includes('50%'));
  assert.deepEqual(secretTexts(load().config), []);
});

test('a wrong secret is reported without its value', () => {
  const wrong = { Redis__Url: 'mysql://u:hunter2@db', Storage__Url: 'mysql://u:hunter2@db' };
  const lines = problems(() => load({ ...wrong, TALLYSTICK_ADMIN_KEY: 'hunter2' }));
  assert.equal(lines.length, 3);
  for (const line of lines) assert.ok(!line.includes('hunter2') && line.includes('it is a secret'), line);
});

test('what `config --json` prints can be used as the file', () => {
  const variables = {
    Server__TrustedProxies: '10.0.0.0/8',
    Authentication__Issuers__0__Issuer: 'https://a.example',
    Authentication__Issuers__0__Audience: 'audit',
    Retention__SweepInterval: 'PT1H30M',
    RateLimiting__GlobalLimiter__Window: '00:00:01.5',
  };
  const first = load(variables);
  const second = loadFile(showAsJson(first.settings));
  assert.deepEqual(second.config, first.config);
});

test('`config` prints a line for each setting, with its source', () => {
  const text = showAsText(load({ Server__Port: '9000' }).settings);
  assert.match(text, /^Server__Port +9000 {2}\(environment\)$/m);
  assert.match(text, /^Server__Host +127\.0\.0\.1 {2}\(default\)$/m);
  assert.match(text, /^Server__PublicUrl +not set: the listening address$/m);
  assert.match(text, /^Grpc__Port +not set: gRPC is not served$/m);
});
