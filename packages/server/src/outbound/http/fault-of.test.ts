// Faults by the codes of Node, for those that no consumer can bring about.

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { systemClock } from '../../runtime/clock.ts';
import { Course } from './course.ts';
import { faultOf } from './fault-of.ts';
import { OutboundError, type OutboundFault, peerIsToBlame } from './outbound-error.ts';

const url = new URL('https://consumer.example/secret?token=hunter2');

function judged(code: string, phase: 'Dns' | 'Connect' | 'Tls' | 'FirstByte'): OutboundError {
  const course = new Course(systemClock);
  course.enter(phase);
  const error = Object.assign(new Error(`connect ${code} 10.1.2.3:443`), { code });
  return faultOf(error, url, course);
}

it('a machine that is out of sockets or ports is Busy, and the peer is not to blame', () => {
  for (const code of ['EMFILE', 'ENFILE', 'ENOBUFS', 'EADDRNOTAVAIL']) {
    const error = judged(code, 'Connect');
    assert.equal(error.fault, 'Busy', code);
    assert.equal(peerIsToBlame(error.fault), false);
  }
});

it('each failure is named by what failed', () => {
  const table: readonly (readonly [string, Parameters<typeof judged>[1], OutboundFault])[] = [
    ['ENOTFOUND', 'Dns', 'Dns'],
    ['ESERVFAIL', 'Dns', 'Dns'],
    ['EHOSTUNREACH', 'Connect', 'Connect'],
    ['ENETUNREACH', 'Connect', 'Connect'],
    ['ETIMEDOUT', 'Connect', 'Connect'],
    ['ERR_SOCKET_CONNECTION_TIMEOUT', 'Connect', 'Connect'],
    ['ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION', 'Tls', 'Tls'],
    ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', 'FirstByte', 'Tls'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'Tls', 'Tls'],
    ['ECONNRESET', 'Tls', 'Reset'],
    ['EPIPE', 'FirstByte', 'Reset'],
    ['HPE_INVALID_CONSTANT', 'FirstByte', 'Protocol'],
    ['HPE_HEADER_OVERFLOW', 'FirstByte', 'TooLarge'],
  ];
  for (const [code, phase, fault] of table) {
    const error = judged(code, phase);
    assert.deepEqual([error.fault, error.phase], [fault, phase], code);
    assert.ok(peerIsToBlame(error.fault), code);
  }
});

it('a message has the origin and the code, no address and nothing else of the URL; the cause is there for diagnostics', () => {
  const { message, cause } = judged('EHOSTUNREACH', 'Connect');
  assert.equal(message, 'https://consumer.example cannot be connected to (EHOSTUNREACH)');
  assert.match((cause as Error).message, /10\.1\.2\.3/);
});
