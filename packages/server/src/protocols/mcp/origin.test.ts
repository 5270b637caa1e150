import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AuditError } from '@tallystick/contract';
import { createOriginCheck, type OriginRules } from './origin.ts';

const LOCAL: OriginRules = { isLoopback: true, publicUrl: undefined, corsOrigins: [], allowedHosts: [] };
const OPEN: OriginRules = { ...LOCAL, isLoopback: false };
const NAMED: OriginRules = {
  isLoopback: false,
  publicUrl: 'https://audit.example/base',
  corsOrigins: ['https://console.example'],
  allowedHosts: ['audit.internal'],
};

function verdict(rules: OriginRules, host: string | undefined, origin?: string): string {
  try {
    createOriginCheck(rules)({ host, ...(origin !== undefined && { origin }) });
  } catch (error) {
    return error instanceof AuditError ? error.message.split(' ')[0]! : String(error);
  }
  return 'in';
}

test('a request comes in by the names of the service, from its pages and those that the settings name', () => {
  const table: [OriginRules, host: string | undefined, origin: string | undefined, expected: string][] = [
    [LOCAL, 'localhost:8080', undefined, 'in'],
    [LOCAL, '127.0.0.1', 'http://localhost:3000', 'in'],
    [LOCAL, '[::1]:8080', 'http://[::1]:9', 'in'],
    [LOCAL, 'rebound.example:8080', undefined, 'Host'],
    [LOCAL, 'localhost.rebound.example', undefined, 'Host'],
    [LOCAL, undefined, undefined, 'Host'],
    [LOCAL, 'a b', undefined, 'Host'],
    [LOCAL, 'localhost', 'https://rebound.example', 'Origin'],
    [LOCAL, 'localhost', 'null', 'Origin'],
    [LOCAL, 'localhost', 'nonsense', 'Origin'],
    [LOCAL, 'localhost', 'http://localhost:1, http://localhost:2', 'Origin'],
    [LOCAL, 'localhost', 'http://localhost/path', 'Origin'],
    [OPEN, 'whatever.example', undefined, 'in'],
    [OPEN, 'whatever.example', 'https://whatever.example', 'Origin'],
    [OPEN, 'whatever.example', 'http://localhost', 'Origin'],
    [NAMED, 'audit.example', 'https://audit.example', 'in'],
    [NAMED, 'AUDIT.example:443', 'https://console.example', 'in'],
    [NAMED, 'audit.internal', undefined, 'in'],
    [NAMED, 'localhost', undefined, 'Host'],
    [NAMED, 'audit.example', 'http://audit.example', 'Origin'],
  ];
  for (const [rules, host, origin, expected] of table)
    assert.equal(verdict(rules, host, origin), expected, `${host} ${origin}`);
});
