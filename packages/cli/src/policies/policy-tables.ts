// Policies and templates as tables for people.

import type { Policy, PolicyTemplate } from '@tallystick/contract';
import type { Columns } from '../output/table.ts';

export const POLICY_COLUMNS: Columns<Policy> = {
  NAME: ({ name }) => name,
  TYPE: ({ policyType }) => policyType,
  STATUS: ({ status }) => status,
  PRIORITY: ({ priority }) => String(priority),
  VERSION: ({ version }) => String(version),
  RULES: ({ rules }) => String(rules.length),
  UPDATED: ({ updatedAt }) => updatedAt,
  'POLICY ID': ({ policyId }) => policyId,
};

export const TEMPLATE_COLUMNS: Columns<PolicyTemplate> = {
  'TEMPLATE ID': ({ templateId }) => templateId,
  FRAMEWORK: ({ framework }) => framework,
  TYPE: ({ policy }) => policy.policyType,
  RULES: ({ policy }) => String(policy.rules?.length ?? 0),
  NAME: ({ name }) => name,
  DESCRIPTION: ({ description }) => description,
};
