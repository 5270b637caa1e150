import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AuditEvent, SearchFilters } from '@tallystick/contract';
import { passes } from './filters.ts';
import { shownEvent } from './testing/shown-event.ts';

type Row = readonly [filters: SearchFilters, passes: boolean];

function assertPasses(event: AuditEvent, rows: readonly Row[]): void {
  for (const [filters, expected] of rows) {
    assert.equal(passes(filters, event), expected, JSON.stringify(filters));
  }
}

test('each filter looks at its own member, exactly but for the case of a UUID', () => {
  assertPasses(shownEvent(), [
    [{}, true],
    [{ actorIds: ['u-1'] }, true],
    [{ actorIds: ['U-1'] }, false],
    [{ actorIds: ['u'] }, false],
    [{ actorIds: ['ana@acme.test'] }, false],
    [{ actorTypes: ['User'] }, true],
    [{ actorTypes: ['Service', 'System'] }, false],
    [{ actions: ['Delete.Invoice'] }, true],
    [{ actions: ['delete.invoice'] }, false],
    [{ resourceTypes: ['Invoice'] }, true],
    [{ resourceTypes: ['INV-42'] }, false],
    [{ resourceIds: ['INV-42'] }, true],
    [{ resourceIds: ['inv-42'] }, false],
    [{ classifications: ['Internal'] }, true],
    [{ classifications: ['Public'] }, false],
    [{ outcomes: ['Success'] }, true],
    [{ outcomes: ['Denied'] }, false],
    [{ correlationIds: ['7d3f0c52-6a3e-4b51-9a0e-2f6b1f3c9d11'] }, true],
    [{ correlationIds: ['7D3F0C52-6A3E-4b51-9a0e-2f6b1f3c9d11'] }, true],
    [{ correlationIds: ['7d3f0c52-6a3e-4b51-9a0e-2f6b1f3c9d12'] }, false],
    [{ streamIds: ['01KE00000000000000000000S1'] }, true],
    [{ streamIds: ['01KE00000000000000000000S2'] }, false],
  ]);
  assertPasses(shownEvent({ correlationId: '7D3F0C52-6A3E-4B51-9A0E-2F6B1F3C9D11' }), [
    [{ correlationIds: ['7d3f0c52-6a3e-4b51-9a0e-2f6b1f3c9d11'] }, true],
  ]);
  const service = shownEvent({ actor: { actorType: 'Service', serviceId: 'svc-9' } });
  assertPasses(service, [
    [{ actorIds: ['svc-9'] }, true],
    [{ actorIds: ['u-1'] }, false],
  ]);
});

test('a * at the end is a prefix where values may have one, and anywhere else it is itself', () => {
  assertPasses(shownEvent(), [
    [{ actions: ['Delete.*'] }, true],
    [{ actions: ['*'] }, true],
    [{ actions: ['*.Invoice'] }, false],
    [{ actions: ['delete.*'] }, false],
    [{ actions: ['Create.*'] }, false],
    [{ actorIds: ['u-*'] }, true],
    [{ resourceTypes: ['Inv*'] }, true],
    [{ resourceIds: ['INV-4*'] }, true],
    [{ correlationIds: ['7d3f*'] }, false],
    [{ streamIds: ['01KE*'] }, false],
  ]);
  const starred = shownEvent({ resource: { resourceType: 'a*b', resourceId: 'x' } });
  assertPasses(starred, [
    [{ resourceTypes: ['a*b'] }, true],
    [{ resourceTypes: ['a*'] }, true],
    [{ resourceTypes: ['ab*'] }, false],
  ]);
  // Who has no identifier has none that begins with anything.
  assertPasses(shownEvent({ actor: { actorType: 'System' } }), [[{ actorIds: ['*'] }, false]]);
});

test('OR within a filter, AND between filters, and an empty list is no filter', () => {
  assertPasses(shownEvent(), [
    [{ actions: ['Create.Invoice', 'Delete.Invoice'] }, true],
    [{ actions: ['Delete.Invoice'], actorIds: ['u-2', 'u-1'] }, true],
    [{ actions: ['Delete.Invoice'], actorIds: ['u-2'] }, false],
    [{ actions: ['Create.*'], actorIds: ['u-1'] }, false],
    [{ actions: [], actorIds: [], outcomes: [], kinds: [] }, true],
  ]);
});

test('notices pass only where they are asked for', () => {
  assertPasses(shownEvent({ kind: 'Notice' }), [
    [{}, false],
    [{ kinds: [] }, false],
    [{ kinds: ['Event'] }, false],
    [{ kinds: ['Notice'] }, true],
    [{ kinds: ['Event', 'Notice'] }, true],
  ]);
  assertPasses(shownEvent(), [
    [{ kinds: ['Notice'] }, false],
    [{ kinds: ['Event', 'Notice'] }, true],
  ]);
});

test('a time range includes both ends, to the last digit and in any zone', () => {
  const at = '2026-01-02T03:04:05.123456789Z';
  assertPasses(shownEvent({ timestamp: at }), [
    [{ timeRange: {} }, true],
    [{ timeRange: { from: at, to: at } }, true],
    [{ timeRange: { from: '2026-01-02T05:04:05.123456789+02:00' } }, true],
    [{ timeRange: { from: '2026-01-02T03:04:05.12345679Z' } }, false],
    [{ timeRange: { to: '2026-01-02T03:04:05.123456788Z' } }, false],
    [{ timeRange: { to: '2026-01-02T03:04:05.1234568Z' } }, true],
    [{ timeRange: { from: '2026-01-02T03:04:05Z', to: '2026-01-02T03:04:06Z' } }, true],
    [{ timeRange: { from: '2026-01-03T00:00:00Z' } }, false],
    [{ timeRange: { to: '2026-01-01T23:59:59Z' } }, false],
  ]);
  const whole = shownEvent({ timestamp: '2026-01-02T03:04:05.000Z' });
  assertPasses(whole, [
    [{ timeRange: { from: '2026-01-02T03:04:05Z', to: '2026-01-02T03:04:05.0Z' } }, true],
  ]);
});

test('a redacted value passes no filter', () => {
  const event = shownEvent({
    actor: { actorType: 'User', userId: '[REDACTED]' },
    redaction: { fields: ['actor.userId'], reason: 'AccessPolicy' },
  });
  assertPasses(event, [
    [{ actorIds: ['[REDACTED]'] }, false],
    [{ actorIds: ['*'] }, false],
    [{ actions: ['Delete.*'] }, true],
  ]);
});
