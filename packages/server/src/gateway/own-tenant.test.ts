// A tenant that is named in the request is the tenant of the call, or the call ends there.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AuditError, type OperationName, operationNamed } from '@tallystick/contract';
import { EVENT } from '../testing/bound-operations.ts';
import { checkOwnTenant } from './own-tenant.ts';

function codeOf(name: OperationName, input: unknown): string {
  try {
    checkOwnTenant(operationNamed(name), input, 'acme');
  } catch (error) {
    return error instanceof AuditError ? error.code : String(error);
  }
  return 'none';
}

test('the tenant of the call passes wherever it is repeated, and so does silence', () => {
  for (const tenantId of ['acme', undefined, null]) {
    assert.equal(codeOf('events.ingest', { event: { ...EVENT, tenantId } }), 'none');
    assert.equal(codeOf('events.list', { tenantId }), 'none');
    assert.equal(codeOf('projections.rebuild', { rebuild: { tenantId } }), 'none');
  }
  assert.equal(codeOf('projections.rebuild', {}), 'none');
});

test('another tenant is refused, well formed or not, before anything else is judged', () => {
  for (const tenantId of ['other', 'ACME', '', '../acme', 'a'.repeat(300)]) {
    assert.equal(codeOf('events.ingest', { event: { tenantId } }), 'TENANT_MISMATCH', tenantId);
    assert.equal(codeOf('events.list', { tenantId, limit: 'many' }), 'TENANT_MISMATCH', tenantId);
    assert.equal(codeOf('exports.list', { tenantId }), 'TENANT_MISMATCH', tenantId);
    assert.equal(codeOf('projections.rebuild', { rebuild: { tenantId } }), 'TENANT_MISMATCH', tenantId);
  }
});

test('what is no text, and what the operation judges for itself, is not judged here', () => {
  assert.equal(codeOf('events.ingest', { event: { ...EVENT, tenantId: 5 } }), 'none');
  assert.equal(codeOf('events.ingest', { event: 'x' }), 'none');
  assert.equal(codeOf('events.ingestBatch', { batch: { events: [{ tenantId: 'other' }] } }), 'none');
  assert.equal(codeOf('tenants.create', { tenant: { tenantId: 'other' } }), 'none');
  assert.equal(codeOf('apiKeys.create', { key: { tenantId: 'other' } }), 'none');
});

test('who names another tenant is told which one the request is for', () => {
  assert.throws(
    () => checkOwnTenant(operationNamed('events.list'), { tenantId: 'other' }, 'acme'),
    /^AuditError: tenantId must be acme, the tenant of the request, or left out\.$/,
  );
});
