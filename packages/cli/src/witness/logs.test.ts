import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openNote } from '@tallystick/evidence';
import { CannotRun } from '../cannot-run.ts';
import { sampleLog } from '../testing/sample-log.ts';
import { logsOf, parseLogLines } from './logs.ts';

const PREFIX = 'audit.example.com/t/';
const acme = await sampleLog(`${PREFIX}acme`);
const globex = await sampleLog(`${PREFIX}globex`);
const rotated = await sampleLog(`${PREFIX}acme`, { key: 'the next key' });
const foreign = await sampleLog('foreign.example/log', { key: 'a foreign key' });

test('one key speaks for every log below its prefix, under the name of each', async () => {
  const logs = logsOf(parseLogLines(`below ${PREFIX} ${acme.verifierKey}\n`, 'logs'));
  for (const log of [acme, globex]) {
    const verifiers = await logs.verifiersOf(log.origin);
    assert.deepEqual(
      verifiers.map(({ name, keyId }) => [name, keyId]),
      [[log.origin, log.signer.keyId]],
    );
    assert.equal((await openNote(await log.note(3), verifiers)).signatures.length, 1);
  }
  assert.equal((await logs.verifiersOf(`${PREFIX}acme/2`)).length, 1, 'and for the next epoch of each');
  for (const origin of [
    PREFIX,
    'audit.example.com/t',
    'audit.example.com/tenant',
    `x${PREFIX}a`,
    `${PREFIX}a b`,
  ]) {
    assert.deepEqual(await logs.verifiersOf(origin), [], origin);
  }
});

test('while a key is rotated both speak, and a line said twice is one', async () => {
  const lines = `below ${PREFIX} ${acme.verifierKey}
below ${PREFIX} ${rotated.verifierKey}
log ${acme.verifierKey}
log ${foreign.verifierKey}
log ${foreign.verifierKey}`;
  const logs = logsOf(parseLogLines(lines, 'logs'));
  assert.equal((await logs.verifiersOf(acme.origin)).length, 2);
  assert.equal((await logs.verifiersOf(globex.origin)).length, 2);
  assert.equal((await logs.verifiersOf(foreign.origin)).length, 1);
  assert.deepEqual([logs.names, logs.prefixes], [[acme.origin, foreign.origin], [PREFIX]]);
});

test('says which line cannot be read, and why', () => {
  const cosigning = 'witness.example.com/w1+23cdabb7+BH3/d4bX4apNsXXmmy+YH84ttvyJH7wXvaLVZ/im1xXd';
  const table: [string, RegExp][] = [
    ['log', /^logs, line 2: a line is/],
    [`log ${acme.verifierKey} more`, /a line is/],
    [`below ${PREFIX}`, /a line is/],
    [acme.verifierKey, /a line is/],
    ['log x', /"x" is no usable key: verifier key has not the form/],
    [`log ${acme.verifierKey.replace(/\+[0-9a-f]{8}\+/, '+00000000+')}`, /has the id 00000000/],
    [`log ${cosigning}`, /it is of type 4, and logs sign with type 1/],
    [`below audit.example.com/t ${acme.verifierKey}`, /does not end in a slash/],
    [`below / ${acme.verifierKey}`, /does not end in a slash/],
    [`below ${PREFIX} ${foreign.verifierKey}`, /is that of foreign\.example\/log, which is not below/],
  ];
  for (const [line, message] of table) {
    assert.throws(
      () => parseLogLines(`# first\n${line}\n`, 'logs'),
      (error: unknown) => error instanceof CannotRun && message.test(error.message),
      line,
    );
  }
});
