import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CannotRun } from '../cannot-run.ts';
import { logAddress, servedLog } from './served-log.ts';
import { answering } from '../testing/answering.ts';

const isCannotRun = (pattern: RegExp) => (error: unknown) =>
  error instanceof CannotRun && pattern.test(error.message) && !error.message.includes('\n');

describe('the address of a log', () => {
  it('is the one that is given, or made of the service and the tenant', () => {
    const log = 'https://audit.example.com/api/v1/log/t/acme';
    for (const [text, tenant] of [
      [log, undefined],
      [`${log}/`, undefined],
      [log, 'acme'],
      ['https://audit.example.com', 'acme'],
      ['https://audit.example.com/', 'acme'],
      ['https://audit.example.com/api/v1/', 'acme'],
      ['HTTPS://AUDIT.example.com:443', 'acme'],
    ] as const) {
      assert.equal(logAddress(text, tenant), log);
    }
    assert.equal(logAddress('https://h/api/v2', 'acme'), 'https://h/api/v2/log/t/acme');
    assert.equal(logAddress('http://h/audit', 'acme'), 'http://h/audit/api/v1/log/t/acme');
    assert.equal(logAddress('https://tlog.example/2026', undefined), 'https://tlog.example/2026');
  });

  it('is refused where it says two things, or holds what belongs elsewhere', () => {
    assert.throws(
      () => logAddress('https://h/api/v1/log/t/acme', 'other'),
      /log of acme, and --tenant is other/,
    );
    assert.throws(() => logAddress('https://h', undefined), /name the log by --tenant/);
    for (const text of ['https://u:p@h/log', 'https://h/log?x=1', 'https://h/log#x', 'https://']) {
      assert.throws(() => logAddress(text, 'acme'), CannotRun);
    }
  });
});

describe('a log that cannot be read', () => {
  it('is one clear line for every answer that is none', async () => {
    let status = 401;
    await using server = await answering((_, response) => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end('{"error":{"code":"ANY_CODE","message":"It is \\u001b[31m so."}}');
    });
    for (const [code, says] of [
      [401, /answers 401 \(ANY_CODE: It is \\u001b\[31m so\.\): give an API key/],
      [403, /answers 403 .*audit:verify/],
      [404, /answers 404 .*is this the address of a log/],
      [503, /answers 503 \(ANY_CODE/],
      [500, /answers 500 \(ANY_CODE/],
    ] as const) {
      status = code;
      await assert.rejects(servedLog(server.url).checkpoint(), isCannotRun(says));
    }
  });

  it('is read by the next version where one is retired, and the last one says so', async () => {
    const asked: string[] = [];
    let retired = ['v1'];
    await using server = await answering((request, response) => {
      asked.push(request.url ?? '');
      const isRetired = retired.some((version) => request.url?.startsWith(`/api/${version}/`));
      response.writeHead(isRetired ? 404 : 200, { 'content-type': 'application/json' });
      response.end(isRetired ? '{"error":{"code":"API_VERSION_RETIRED","message":"Gone."}}' : 'a checkpoint');
    });
    const log = servedLog(`${server.url}/api/v1/log/t/acme`);
    assert.deepEqual(
      [await log.checkpoint(), await log.checkpoint(), log.address],
      ['a checkpoint', 'a checkpoint', `${server.url}/api/v1/log/t/acme`],
    );
    const paths = ['v1', 'v2', 'v2'].map((version) => `/api/${version}/log/t/acme/checkpoint`);
    assert.deepEqual(asked, paths, 'it is asked once');
    retired = ['v1', 'v2'];
    await assert.rejects(
      log.checkpoint(),
      isCannotRun(
        /api\/v2\/.* answers 404 \(API_VERSION_RETIRED: Gone\.\): no version of the interface that this program knows/,
      ),
    );
  });

  it('is not looked for elsewhere: no redirect is followed, and no key goes there', async () => {
    const asked: string[] = [];
    await using other = await answering((request, response) => {
      asked.push(request.url ?? '');
      response.end('a checkpoint');
    });
    await using server = await answering((_, response) => {
      response.writeHead(302, { location: `${other.url}/checkpoint` });
      response.end();
    });
    const log = servedLog(server.url, { apiKey: 'secret' });
    await assert.rejects(log.checkpoint(), isCannotRun(/answers 302 and points to .*not followed/));
    assert.deepEqual(asked, []);
  });

  it('is given up when its answer does not end in time', async () => {
    await using silent = await answering(() => {});
    await assert.rejects(
      servedLog(silent.url, { timeoutMs: 100 }).checkpoint(),
      isCannotRun(/within 0\.1 seconds/),
    );
    await using slow = await answering((_, response) => void response.write('a'));
    await assert.rejects(servedLog(slow.url, { timeoutMs: 100 }).checkpoint(), isCannotRun(/within 0\.1 s/));
  });

  it('is given up when its answer is longer than it can be', async () => {
    await using server = await answering((_, response) => {
      const chunk = Buffer.alloc(65_536, 'a');
      const pump = () => {
        while (response.write(chunk));
      };
      response.on('drain', pump);
      pump();
    });
    const log = servedLog(server.url);
    await assert.rejects(log.checkpoint(), { name: 'EvidenceError', reason: 'MALFORMED' });
    await assert.rejects(log.tile({ level: 0, index: 0, width: 1 }), { reason: 'MALFORMED' });
  });

  it('is one clear line when nobody is there', async () => {
    await using gone = await answering(() => {});
    const { url } = gone;
    await gone[Symbol.asyncDispose]();
    await assert.rejects(servedLog(url).checkpoint(), isCannotRun(/cannot reach .*: ECONNREFUSED/));
  });

  it('is not taken for text when it is none', async () => {
    await using server = await answering((_, response) => void response.end(Buffer.from([0xff, 0xfe])));
    await assert.rejects(servedLog(server.url).checkpoint(), { reason: 'MALFORMED' });
  });
});
