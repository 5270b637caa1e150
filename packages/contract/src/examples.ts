// Examples of what is sent and answered, one sound value for each important schema. Tests hold the schemas against them.

const tenantId = 'acme';
const eventId = '01KE0000000000000000000042';
const streamId = '01KE000000000000000000STRM';
const policyId = '01KE00000000000000000000P1';
const subscriptionId = '01KE00000000000000000000S1';
const webhookId = '7d3f0c52-6a3e-5b51-9a0e-2f6b1f3c9d11';
const at = '2026-01-02T03:04:05.678Z';
const hash = 'ab'.repeat(32);
const caller = 'key:01KE0000000000000000000001';
const note = `audit.example.com/t/acme\n1\nqqo=\n\n— audit.example.com/t/acme ON99Gg==\n`;

export const EXAMPLE_DRAFT = {
  timestamp: at,
  actor: { actorType: 'User', userId: 'u-42', userName: 'ana@example.com' },
  action: 'Delete.Invoice',
  resource: { resourceType: 'Invoice', resourceId: 'INV-42' },
  context: { ipAddress: '203.0.113.7', sessionId: null },
  payload: { amount: 1250.5, lines: [{ sku: 'a/b', qty: 2 }] },
};

export const EXAMPLE_EVENT = {
  ...EXAMPLE_DRAFT,
  eventId,
  tenantId,
  kind: 'Event',
  sequence: 1841,
  receivedAt: at,
  correlationId: '7d3f0c52-6a3e-4b51-9a0e-2f6b1f3c9d11',
  classification: 'Confidential',
  outcome: 'Success',
  submittedBy: caller,
  redaction: { fields: ['payload.iban'], reason: 'AccessPolicy' },
  retention: { policyId, expiresAt: '2033-01-02T03:04:05.678Z', legalHold: false },
  integrity: { streamId, leafIndex: 1840, leafHash: hash, previousHash: hash, status: 'Chained' },
};

const { integrity } = EXAMPLE_EVENT;

const rule = {
  ruleId: '01KE00000000000000000000R1',
  name: 'invoices',
  enabled: true,
  conditions: {
    'resource.resourceType': 'Invoice',
    'payload.amount': { gt: 1000 },
    actor: { userId: 'u-1' },
  },
  effect: { retentionPeriod: 'P7Y' },
};

const filters = {
  actions: ['Delete.*'],
  timeRange: { from: '2026-01-01T00:00:00Z' },
  classifications: ['Secret'],
  kinds: ['Event', 'Notice'],
};

const subscriptionMembers = {
  name: 'SIEM',
  url: 'https://siem.example.com/hook',
  eventTypes: ['AuditEventReceived', 'export.failed'],
  filters: { classifications: ['Secret'], 'payload.amount': { gt: 1000 } },
  headers: { 'X-Team': 'security' },
  active: true,
  timeoutSeconds: 10,
  ordered: false,
};

const notificationHead = {
  webhookId,
  timestamp: at,
  subscription: { subscriptionId, subscriptionName: 'SIEM' },
  signature: `sha256=${hash}`,
  attemptNumber: 1,
};

export const SYSTEM_CHANGE = {
  kind: 'EventStreamSealed',
  component: 'log',
  previousStatus: 'Open',
  status: 'Sealed',
  streamId,
  occurredAt: at,
};

export const THRESHOLD_CROSSING = {
  thresholdId: '01KE00000000000000000000T1',
  name: 'many deletions',
  observedValue: 12,
  threshold: 10,
  window: 'PT5M',
  groupKey: 'u-42',
  severity: 'High',
  detectedAt: at,
};

const issuedKey = {
  keyId: '01KE00000000000000000000K1',
  tenantId,
  name: 'producer',
  roles: ['Operator'],
  scopes: [],
  status: 'Active',
  createdAt: at,
  createdBy: caller,
};

/** By the title of the schema that accepts them. */
export const EXAMPLES: Readonly<Record<string, unknown>> = {
  EventDraft: EXAMPLE_DRAFT,
  AuditEvent: EXAMPLE_EVENT,
  IngestReceipt: {
    eventId,
    tenantId,
    status: 'Accepted',
    timestamp: at,
    message: 'Event accepted.',
    idempotent: false,
  },
  Tombstone: { eventId, tenantId, kind: 'Event', sequence: 7, receivedAt: at, purgedAt: at, integrity },
  StreamEvent: { sequence: 1842, eventId, withheld: 'Clearance', integrity },
  BatchRequest: { events: [EXAMPLE_DRAFT, { ...EXAMPLE_DRAFT, eventId }], transactional: true },
  BatchResult: {
    batchId: '01KE00000000000000000000B1',
    tenantId,
    status: 'PartialSuccess',
    transactional: false,
    idempotent: false,
    totalCount: 3,
    successCount: 2,
    failureCount: 1,
    timestamp: at,
    results: [
      { index: 0, status: 'Accepted', eventId },
      { index: 1, status: 'Duplicate', eventId },
      {
        index: 2,
        status: 'Rejected',
        error: { code: 'VALIDATION_FAILED', message: 'action is missing', details: [] },
      },
    ],
  },
  SearchRequest: {
    query: '"late refund" -test payload.amount:>1000',
    filters,
    sort: [{ field: 'timestamp', order: 'desc' }, { field: 'eventId' }],
    pagination: { limit: 50 },
    aggregations: ['byAction', 'byDay'],
  },
  SearchAnswer: {
    results: [{ ...EXAMPLE_EVENT, score: 3.1, highlights: { 'payload.note': ['… «refund» …'] } }],
    totalCount: 10_432,
    totalCountRelation: 'AtLeast',
    nextCursor: null,
    hasMore: false,
    aggregations: {
      byActor: [{ key: 'u-1', label: 'ana@example.com', count: 77 }],
      otherCount: { byActor: 3 },
    },
    metadata: { queryTimeMs: 23, indexVersion: 'events-3', projectionLagMs: 140, truncated: true },
  },
  EventStream: {
    streamId,
    tenantId,
    status: 'Sealed',
    metadata: { region: 'eu' },
    eventCount: 18_233,
    firstSequence: 40_001,
    lastSequence: 58_233,
    createdAt: at,
    sealedAt: at,
    previousStreamId: streamId,
    hashChain: {
      algorithm: 'SHA-256',
      genesisHash: hash,
      headHash: hash,
      treeSize: 58_233,
      rootHash: hash,
      checkpoint: note,
    },
  },
  StreamVerification: {
    streamId,
    operationId: '01KE00000000000000000000V1',
    status: 'Completed',
    progress: { percent: 100, processedEvents: 18_233, totalEvents: 18_233 },
    requestedAt: at,
    requestedBy: caller,
    startedAt: at,
    completedAt: at,
    verdict: {
      verified: false,
      checkedEvents: 18_233,
      expiredEvents: 0,
      redactedEvents: 2,
      treeSize: 58_233,
      rootHash: hash,
      fault: { sequence: 40_007, reason: 'LEAF_MISMATCH', message: 'the leaf at 40007 differs' },
      verifiedAt: at,
    },
  },
  EventProof: {
    eventId,
    leafIndex: 0,
    treeSize: 1,
    entry: 'AAAA',
    open: [['/action', 'AQEBAQEBAQEBAQEBAQEBAQ==', '"Delete.Invoice"']],
    closed: [['AAAA', 'AAAA']],
    groups: [null, 'AAAA'],
    hashes: [],
    checkpoint: note,
  },
  PolicyConfiguration: { name: 'Finance retention', policyType: 'Retention', rules: [rule] },
  Policy: {
    policyId,
    tenantId,
    name: 'Finance retention',
    description: '',
    policyType: 'Retention',
    status: 'Active',
    active: true,
    version: 3,
    priority: 100,
    rules: [rule],
    createdAt: at,
    createdBy: caller,
    updatedAt: at,
    updatedBy: caller,
  },
  HoldRequest: { name: 'Case 17', reason: 'Litigation', conditions: { 'actor.userId': 'u-42' } },
  RedactionRequest: { fields: ['payload.amount'], reason: 'Entered by mistake' },
  ErasureRequest: { subject: { userId: 'u-42' }, reason: 'Request of the person' },
  ExportRequest: {
    name: 'Q3',
    criteria: { query: 'refund', filters, sort: [] },
    format: 'CSV',
    compression: 'Zip',
    includeProofs: true,
    destination: {
      type: 'Sftp',
      host: 'sftp.example.com',
      path: '/in',
      username: 'audit',
      password: 'not shown',
      hostKeyFingerprint: 'SHA256:GncH9GFFkAuHi9H2dW9R6M/BRNVavc6BdfmxQRXdmAU',
    },
  },
  ExportReceipt: {
    exportId: '01KE00000000000000000000E1',
    status: 'Pending',
    progress: { percent: 0, processedEvents: 0 },
    requestedAt: at,
  },
  SubscriptionConfiguration: { ...subscriptionMembers, secret: 'whsec_c2VjcmV0' },
  SubscriptionPatch: { active: false, filters: null, headers: { 'X-Team': null }, tls: { ca: null } },
  Subscription: {
    ...subscriptionMembers,
    subscriptionId,
    tenantId,
    retry: { strategy: 'Exponential', initialDelay: 'PT1S', maxDelay: 'PT1H' },
    retryClientErrors: true,
    clearance: 'Internal',
    status: 'Paused',
    circuit: { state: 'HalfOpen', consecutiveFailures: 10, openedAt: at },
    createdAt: at,
    createdBy: caller,
    updatedAt: at,
  },
  EventNotification: { ...notificationHead, webhookType: 'event.notification', event: EXAMPLE_EVENT },
  ExportFailedNotification: {
    ...notificationHead,
    webhookType: 'export.failed',
    export: {
      exportId: '01KE00000000000000000000E1',
      status: 'Failed',
      requestedAt: at,
      completedAt: at,
      failureReason: 'StorageFull',
      retriable: true,
    },
  },
  SystemNotification: {
    ...notificationHead,
    webhookType: 'system.event',
    system: SYSTEM_CHANGE,
  },
  ThresholdExceededNotification: {
    ...notificationHead,
    webhookType: 'threshold.exceeded',
    threshold: THRESHOLD_CROSSING,
  },
  HealthReport: {
    status: 'Degraded',
    totalDuration: '00:00:00.0123456',
    entries: {
      webhooks: { status: 'Degraded', description: 'slow', duration: '00:00:01' },
      log: { status: 'Healthy' },
    },
  },
  // As a repeat shows it: the key itself is not kept.
  IssuedKey: issuedKey,
  KeyRequest: { name: 'producer', roles: ['Operator'], scopes: ['audit:write'], clearance: 'Internal' },
  TenantRequest: { tenantId: 'globex', tier: 'Premium', region: 'eu', defaultRetention: 'P1Y' },
  ErrorBody: {
    error: {
      code: 'VALIDATION_FAILED',
      message: 'actor.actorType must be one of User, Service, System.',
      details: [{ field: 'actor.actorType', issue: 'must be one of User, Service, System', value: 'Robot' }],
      traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
      timestamp: at,
      path: '/api/v1/audit-events',
      requestId: '01KE0000000000000000000042',
    },
  },
};
