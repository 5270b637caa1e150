import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadConfig } from '../config/config.ts';
import { nodeName } from './node-name.ts';

const config = (variables: Record<string, string>) => loadConfig({ variables, workingDirectory: '/' }).config;

test('a node has the name that it was given, or that of its host, as far as that can be one', () => {
  assert.equal(nodeName(config({ Node__Name: 'north-1' }), 'host'), 'north-1');
  for (const [host, name] of [
    ['audit-7d9f.example.com', 'audit-7d9f.example.com'],
    ['-ünï code_1', 'n--code_1'],
    ['x'.repeat(300), 'x'.repeat(64)],
    ['', 'node'],
    ['...', 'node'],
  ] as const) {
    assert.equal(nodeName(config({}), host), name);
    assert.equal(nodeName(config({ Node__Name: name }), host), name, 'it could be given');
  }
  for (const wrong of ['', 'a/b', '-a', 'a b', 'x'.repeat(65)])
    assert.throws(() => config({ Node__Name: wrong }), /Node__Name/);
});
