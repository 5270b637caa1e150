// Policies to begin with, by the standard that they serve. Each can be created as it is.

import type { PolicyTemplate } from '@tallystick/contract';

/** Sorted by id, as lists are paged. */
export const TEMPLATES: readonly PolicyTemplate[] = [
  {
    templateId: 'gdpr-minimisation',
    name: 'GDPR: data minimisation',
    framework: 'GDPR',
    description:
      'Events with personal data are confidential: those who need not see it see neither content nor names.',
    policy: {
      name: 'GDPR data minimisation',
      description:
        'Art. 5 (1) c: events with personal data are Confidential, and readers below that do not see the name of who acted.',
      policyType: 'Classification',
      rules: [
        {
          name: 'E-mail addresses',
          conditions: { payload: { detects: 'EmailAddress' } },
          effect: { classification: 'Confidential', redactFields: ['actor.userName'] },
        },
        {
          name: 'Bank accounts',
          conditions: { payload: { detects: 'Iban' } },
          effect: { classification: 'Confidential', redactFields: ['actor.userName'] },
        },
        {
          name: 'National identifiers',
          conditions: { payload: { detects: 'NationalId' } },
          effect: { classification: 'Confidential', redactFields: ['actor.userName'] },
        },
      ],
    },
  },
  {
    templateId: 'hipaa-retention',
    name: 'HIPAA: six years',
    framework: 'HIPAA',
    description:
      '45 CFR 164.316 (b) (2): documentation is kept for six years, whatever the tenant keeps otherwise.',
    policy: {
      name: 'HIPAA retention',
      policyType: 'Retention',
      rules: [{ name: 'All events', effect: { retentionPeriod: 'P6Y' } }],
    },
  },
  {
    templateId: 'iso-27001-access',
    name: 'ISO 27001: need to know',
    framework: 'ISO 27001',
    description:
      'A.8.15: logs are protected against access without need; viewers see no confidential content.',
    policy: {
      name: 'ISO 27001 need to know',
      policyType: 'Access',
      rules: [
        {
          name: 'Viewers see internal content at most',
          effect: { access: 'Allow', roles: ['Viewer'], maxClassification: 'Internal' },
        },
        {
          name: 'Events about keys and credentials are for those who answer for them',
          conditions: { 'resource.resourceType': ['ApiKey', 'Credential', 'Secret'] },
          effect: { access: 'Deny', roles: ['Viewer'] },
        },
      ],
    },
  },
  {
    templateId: 'pci-dss-card-data',
    name: 'PCI DSS: card numbers',
    framework: 'PCI DSS',
    description: 'Requirement 3: a card number in an event raises an alert.',
    policy: {
      name: 'PCI DSS card numbers',
      policyType: 'Alert',
      rules: [
        {
          name: 'Card number in the payload',
          conditions: { payload: { detects: 'CardNumber' } },
          effect: { violationType: 'SensitiveData', severity: 'High' },
        },
        {
          name: 'Card number in the context',
          conditions: { context: { detects: 'CardNumber' } },
          effect: { violationType: 'SensitiveData', severity: 'High' },
        },
      ],
    },
  },
  {
    templateId: 'pci-dss-retention',
    name: 'PCI DSS: one year',
    framework: 'PCI DSS',
    description:
      'Requirement 10.5.1: the audit trail is kept for twelve months, whatever the tenant keeps otherwise.',
    policy: {
      name: 'PCI DSS retention',
      policyType: 'Retention',
      rules: [{ name: 'All events', effect: { retentionPeriod: 'P1Y' } }],
    },
  },
  {
    templateId: 'soc-2-denied-access',
    name: 'SOC 2: denied access',
    framework: 'SOC 2',
    description: 'CC7.2: repeated denials by one actor are noticed.',
    policy: {
      name: 'SOC 2 denied access',
      policyType: 'Alert',
      rules: [
        {
          name: 'Ten denials of an actor in five minutes',
          conditions: { outcome: 'Denied' },
          effect: {
            violationType: 'UnauthorizedAccess',
            severity: 'High',
            threshold: { count: 10, window: 'PT5M', groupBy: 'actor.userId' },
          },
        },
      ],
    },
  },
  {
    templateId: 'sox-retention',
    name: 'SOX: seven years',
    framework: 'SOX',
    description: 'Section 802: records of audits are kept for seven years.',
    policy: {
      name: 'SOX retention',
      policyType: 'Retention',
      rules: [{ name: 'All events', effect: { retentionPeriod: 'P7Y' } }],
    },
  },
];
