// Who may call which operation, written down by hand and not derived from `packages/contract`: the test holds the service
// against this table, so that a slip in the contract's own table shows.

export const ALL_ROLES = ['Admin', 'Operator', 'Auditor', 'Viewer'] as const;
export type RoleName = (typeof ALL_ROLES)[number];

export interface AccessRow {
  readonly permission: string;
  /** Null: no token and no scope carries it. */
  readonly scope: string | null;
  readonly roles: readonly RoleName[];
  readonly operations: readonly string[];
}

export const ACCESS_TABLE: readonly AccessRow[] = [
  {
    permission: 'audit.events.write',
    scope: 'audit:write',
    roles: ['Admin', 'Operator'],
    operations: ['events.ingest', 'events.ingestBatch'],
  },
  {
    permission: 'audit.events.read',
    scope: 'audit:read',
    roles: ['Admin', 'Operator', 'Auditor', 'Viewer'],
    operations: [
      'events.list',
      'events.get',
      'events.search',
      'events.explain',
      'streams.list',
      'streams.get',
      'streams.listEvents',
      'violations.list',
      'violations.get',
    ],
  },
  {
    permission: 'audit.integrity.verify',
    scope: 'audit:verify',
    roles: ['Admin', 'Operator', 'Auditor', 'Viewer'],
    operations: [
      'events.prove',
      'streams.verify',
      'streams.getVerification',
      'checkpoints.latest',
      'checkpoints.proveConsistency',
      'log.checkpoint',
      'log.key',
      'log.tile',
      'log.entries',
    ],
  },
  {
    permission: 'audit.policies.read',
    scope: 'audit:policy',
    roles: ['Admin', 'Operator', 'Auditor'],
    operations: [
      'policies.list',
      'policies.get',
      'policies.listTemplates',
      'policies.validate',
      'policies.listVersions',
      'policies.getVersion',
      'retention.preview',
    ],
  },
  {
    permission: 'audit.policies.write',
    scope: 'audit:policy',
    roles: ['Admin'],
    operations: [
      'policies.create',
      'policies.replace',
      'policies.delete',
      'policies.addRule',
      'policies.removeRule',
      'streams.seal',
      'violations.acknowledge',
    ],
  },
  {
    permission: 'audit.holds.manage',
    scope: 'audit:hold',
    roles: ['Admin', 'Auditor'],
    operations: ['holds.create', 'holds.list', 'holds.get', 'holds.release'],
  },
  {
    permission: 'audit.events.redact',
    scope: 'audit:redact',
    roles: ['Admin'],
    operations: ['events.redact', 'erasures.create', 'erasures.get', 'operations.confirm'],
  },
  {
    permission: 'audit.exports.manage',
    scope: 'audit:export',
    roles: ['Admin', 'Auditor'],
    operations: [
      'exports.create',
      'exports.list',
      'exports.get',
      'exports.download',
      'exports.deliver',
      'exports.retry',
      'exports.delete',
      'exportSchedules.create',
      'exportSchedules.list',
      'exportSchedules.get',
      'exportSchedules.replace',
      'exportSchedules.delete',
    ],
  },
  {
    permission: 'audit.webhooks.manage',
    scope: 'audit:webhooks',
    roles: ['Admin', 'Operator'],
    operations: [
      'subscriptions.create',
      'subscriptions.list',
      'subscriptions.get',
      'subscriptions.replace',
      'subscriptions.update',
      'subscriptions.delete',
      'subscriptions.pause',
      'subscriptions.resume',
      'subscriptions.test',
      'subscriptions.rotateSecret',
      'subscriptions.recover',
      'deliveries.list',
      'deliveries.redeliver',
    ],
  },
  {
    permission: 'audit.admin.operate',
    scope: 'audit:admin',
    roles: ['Admin', 'Operator'],
    operations: [
      'status.get',
      'metrics.get',
      'projections.rebuild',
      'operations.get',
      'deadLetters.list',
      'deadLetters.reprocess',
      'deadLetters.reprocessAll',
    ],
  },
  {
    permission: 'audit.keys.manage',
    scope: 'audit:keys',
    roles: ['Admin'],
    operations: ['apiKeys.create', 'apiKeys.list', 'apiKeys.get', 'apiKeys.rotate', 'apiKeys.revoke'],
  },
  {
    permission: 'audit.platform.manage',
    scope: null,
    roles: [],
    operations: [
      'tenants.create',
      'tenants.list',
      'tenants.get',
      'tenants.replace',
      'rateLimits.replenish',
      'process.metrics',
    ],
  },
];

/** Anybody may call these, with whatever credential. */
export const OPEN_OPERATIONS: readonly string[] = [
  'health.get',
  'health.live',
  'health.ready',
  'process.live',
  'process.ready',
  'process.startup',
];

export const ALL_SCOPES = [...new Set(ACCESS_TABLE.flatMap(({ scope }) => scope ?? []))];
