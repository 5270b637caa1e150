// Which variables of the environment count as ours, and which are left to other programs.

import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { loadConfig } from './config.ts';
import { ConfigError } from './config-error.ts';

const workingDirectory = join(tmpdir(), 'tallystick-no-such-folder');

function problems(variables: Readonly<Record<string, string>>): readonly string[] {
  try {
    loadConfig({ variables, workingDirectory });
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error));
    return error.problems;
  }
  return [];
}

const NEAR_MISSES: readonly (readonly [string, string])[] = [
  // The section is misspelt.
  ['Storge__DataDirectory', 'Storage__DataDirectory'],
  ['Stroage__DataDirectory', 'Storage__DataDirectory'],
  ['Storage_DataDirectory', 'Storage__DataDirectory'],
  ['Sever__Port', 'Server__Port'],
  ['Nodes__Name', 'Node__Name'],
  ['Rediss__Url', 'Redis__Url'],
  ['RateLimits__EnableRateLimiting', 'RateLimiting__EnableRateLimiting'],
  ['Server_Prot', 'Server__Port'],
  ['Storge__DataDirectoy', 'Storage__DataDirectory'],
  // One underscore, or another separator, where there are two.
  ['Server_Port', 'Server__Port'],
  ['Server_port', 'Server__Port'],
  ['Server___Port', 'Server__Port'],
  ['Server:Port', 'Server__Port'],
  ['Server.Port', 'Server__Port'],
  ['RateLimiting_GlobalLimiter_PermitLimit', 'RateLimiting__GlobalLimiter__PermitLimit'],
  ['Authentication_Issuers_1_Issuer', 'Authentication__Issuers__0__Issuer'],
  ['Server_TrustedProxies_0', 'Server__TrustedProxies'],
  // Only the case differs.
  ['STORAGE__DATADIRECTORY', 'Storage__DataDirectory'],
  ['server__port', 'Server__Port'],
  // Settings that are in no section.
  ['Enviroment', 'Environment'],
  ['TALLYSTICK_ADMINKEY', 'TALLYSTICK_ADMIN_KEY'],
  ['TALLYSTIK_ADMIN_KEY', 'TALLYSTICK_ADMIN_KEY'],
];

test('a variable that nearly names a setting stops the start and names the setting', () => {
  for (const [name, meant] of NEAR_MISSES) {
    assert.deepEqual(problems({ [name]: 'x' }), [
      `${name} in the environment is not a setting; did you mean ${meant}?`,
    ]);
  }
});

test('a section that is misspelt is named even where the setting in it is unknown', () => {
  assert.deepEqual(problems({ Storge__Folder: 'x' }), [
    'Storge__Folder in the environment is not a setting; did you mean the section Storage?',
  ]);
});

const OTHERS = `
  PATH HOME LANG SHELL HOSTNAME PORT ENVIRONMENT environment NODE_ENV NODE_OPTIONS __CF_USER_TEXT_ENCODING __ _
  SERVER_NAME SERVER_PORT SERVER_HOST server_port STORAGE_URL STORAGE_DATADIRECTORY REDIS_URL GRPC_PORT NODE_NAME
  LOG_LEVEL LOG_ORIGIN LOG__LEVEL REDIS__URI AWS_S3__REGION KUBERNETES_SERVICE_PORT KUBERNETES_PORT_443_TCP_ADDR
  TALLYSTICK_SERVICE_HOST TALLYSTICK_PORT_8080_TCP TALLYSTICK_API_KEY TALLYSTICK_URL TALLYSTICK_LAUNCHED
  npm_config__auth npm_config_node_gyp npm_package_config__x npm_package_engines_node
  Other__Section Serverless__Port Logging__LogLevel__Default Services__api__http__0 Kestrel__Endpoints__Http__Url
  ConnectionStrings__Default Reports__Path DOTNET_gcServer ASPNETCORE_URLS
  ProgramFiles ProgramFiles(x86) CommonProgramW6432 ComSpec PSModulePath Path ServerPort NodeName
`.match(/\S+/g)!;

test('what ordinary machines have in their environment stops nothing', () => {
  const found = OTHERS.filter((name) => problems({ [name]: 'x' }).length > 0);
  assert.deepEqual(found, []);
});
