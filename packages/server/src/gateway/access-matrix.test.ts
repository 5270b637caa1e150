// Every operation × every role and none × its scope, all other scopes and none × API keys, bearer tokens and platform keys: each
// request is let in, or refused with the code that the table says. Every request carries a query parameter that no operation
// knows, so that one which is let in is refused for that, right behind authorization, and changes nothing.

import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { type Operation, OPERATIONS, REST_STATUS_OF_ERROR } from '@tallystick/contract';
import {
  type AccessCase,
  createCredentials,
  type CredentialMaker,
  ELSEWHERE,
  grantedCases,
  refusedCases,
  type Sender,
  TENANT,
  type Verdict,
} from '../testing/access-cases.ts';
import { ACCESS_TABLE, OPEN_OPERATIONS } from '../testing/access-table.ts';
import { PLATFORM_KEY, WITH_PLATFORM_KEY } from '../testing/admin-caller.ts';
import { ask } from '../testing/ask.ts';
import { startTestApp, type TestApp } from '../testing/test-app.ts';

const LET_IN = '400 INVALID_PARAMETER';
type Headers = Readonly<Record<string, string>>;

let app: TestApp;
let credentials: CredentialMaker;
const agent = new Agent({ keepAlive: true });

before(async () => {
  app = await startTestApp({ ...WITH_PLATFORM_KEY, Telemetry__Level: 'Warn' });
  credentials = await createCredentials(app);
});
after(async () => {
  agent.destroy();
  await app[Symbol.asyncDispose]();
});

const keyWith: CredentialMaker['keyWith'] = (...wanted) => credentials.keyWith(...wanted);
const headersOf = ({ key, token, tenant }: Sender): Headers => ({
  ...(key !== undefined && { 'x-api-key': key }),
  ...(token !== undefined && { authorization: `Bearer ${token}` }),
  ...(tenant !== undefined && { 'x-tenant-id': tenant }),
});
const byKey = (key: string): Headers => headersOf({ key, tenant: TENANT });

/** As REST tells it. */
const toldAs = (verdict: Verdict) =>
  verdict === 'LetIn' ? LET_IN : `${REST_STATUS_OF_ERROR[verdict]} ${verdict}`;

const ID = '01KE0000000000000000000042';

function pathOf({ rest }: Operation, tenant = TENANT): string {
  const path = rest.path.replace('{tenantId}', tenant).replaceAll(/\{\w+\+?\}/g, ID);
  return `${rest.atRoot === true ? '' : '/api/v1'}${path}?unknown=1`;
}

/** `400 INVALID_PARAMETER`: with an agent of its own, because there are thousands of requests. */
function codeOf(method: string, path: string, headers: Headers): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = request(`${app.url}${path}`, { method, headers, agent }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => (text += chunk));
      response.on('end', () => {
        const code = /"error":\{"code":"(\w+)"/.exec(text)?.[1] ?? '';
        resolve(`${response.statusCode} ${code}`.trim());
      });
    });
    sent.on('error', reject);
    sent.end();
  });
}

const operationNamed = (name: string): Operation => OPERATIONS.find((each) => each.name === name)!;

function pathFor({ isElsewhere, isLinked }: AccessCase, operation: Operation): string {
  if (isLinked) return `${pathOf(operation)}&expires=4102444800&signature=AAAA`;
  return pathOf(operation, isElsewhere ? ELSEWHERE : TENANT);
}

describe('who may call what', () => {
  it('the table has a row for every operation, and each once', () => {
    const rows = [...ACCESS_TABLE.flatMap(({ operations }) => operations), ...OPEN_OPERATIONS];
    assert.deepEqual(rows.toSorted(), OPERATIONS.map(({ name }) => name).toSorted());
  });

  for (const row of ACCESS_TABLE) {
    for (const name of row.operations) {
      it(`${name} needs ${row.permission}`, async () => {
        const operation = operationNamed(name);
        const wrong: string[] = [];
        const cases = [...grantedCases(row, credentials), ...refusedCases(row, operation, credentials)];
        for (const each of cases) {
          const path = pathFor(each, operation);
          const code = await codeOf(operation.rest.method, path, headersOf(await each.by()));
          const expected = toldAs(each.expected);
          if (code !== expected) wrong.push(`${each.who}: ${code} in place of ${expected}`);
        }
        assert.deepEqual(wrong, []);
      });
    }
  }

  it('what a version, the lack of one and HEAD add is no way around', async () => {
    const viewer = byKey(await keyWith(TENANT, ['Viewer'], []));
    for (const row of ACCESS_TABLE) {
      for (const operation of row.operations.map(operationNamed)) {
        const { method, atRoot } = operation.rest;
        const path = pathOf(operation);
        const paths = atRoot ? [path] : [path, path.replace('/v1/', '/v2/'), path.replace('/v1/', '/')];
        const expected = row.roles.includes('Viewer') ? '400' : '403';
        for (const each of paths) {
          for (const asked of method === 'GET' ? ['GET', 'HEAD'] : [method]) {
            const of = async (headers: Headers) => (await codeOf(asked, each, headers)).slice(0, 3);
            assert.equal(await of(viewer), expected, `${asked} ${each}`);
            assert.equal(await of({ 'x-tenant-id': TENANT }), '401', `${asked} ${each}`);
          }
        }
      }
    }
  });

  it('open operations look at no credential', async () => {
    for (const operation of OPEN_OPERATIONS.map(operationNamed)) {
      for (const headers of [{}, byKey('tsk_who_knows_this'), { authorization: 'Bearer a.b.c' }]) {
        const code = await codeOf('GET', pathOf(operation), headers);
        assert.match(code, /^(?:200|400 INVALID_PARAMETER)$/, operation.name);
      }
    }
  });

  it('keys of other tenants are out of reach of an Admin of the tenant, and of a platform key without that role', async () => {
    const theirs = await keyWith('globex', ['Viewer'], []);
    const keyPath = `/api/v1/admin/api-keys/${theirs.split('_')[1]}`;
    const asked = async (key: string, method: string, path: string, body?: unknown) =>
      (await ask(app, method, path, { key, tenant: TENANT, body })).code;
    const admin = await keyWith(TENANT, ['Admin'], []);
    const scoped = await keyWith('*', [], ['audit:keys']);
    for (const key of [admin, scoped]) {
      for (const tenantId of ['globex', '*']) {
        const request = { name: 'x', tenantId, roles: ['Viewer'] };
        assert.match(await asked(key, 'POST', '/api/v1/admin/api-keys', request), /^403 /);
        assert.match(await asked(key, 'GET', `/api/v1/admin/api-keys?tenantId=${tenantId}`), /^403 /);
      }
      assert.equal(await asked(key, 'GET', keyPath), '404 KEY_NOT_FOUND');
      assert.equal(await asked(key, 'POST', `${keyPath}/rotate`), '404 KEY_NOT_FOUND');
      assert.equal(await asked(key, 'DELETE', keyPath), '404 KEY_NOT_FOUND');
    }
    assert.equal(await asked(PLATFORM_KEY, 'GET', keyPath), '200');
  });
});
