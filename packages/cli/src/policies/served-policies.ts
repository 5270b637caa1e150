// Reads and changes the policies of a tenant over HTTP. A change is retried if its answer is lost; the Idempotency-Key makes
// sure that it is done once. An answer of the wrong shape is an EvidenceError; no answer, or a refusal, is NoAnswer.

import {
  LIMITS,
  type Policy,
  type PolicyConfiguration,
  type PolicyTemplate,
  type PolicyValidation,
  type TimeRange,
} from '@tallystick/contract';
import { allPages, type AskedService, askerOf, type AskOptions, misshapen } from '../ask-json.ts';
import { type Change, retried } from '../retried-change.ts';
import { isPolicy, isTemplate, isVerdict } from './policy-guard.ts';

export interface PolicyFilter {
  /** Several with commas between them. */
  readonly policyType?: string | undefined;
  readonly status?: string | undefined;
}

export interface ServedPolicies {
  /** All of them; deleted ones only if their status is asked for. */
  list(filter?: PolicyFilter): Promise<Policy[]>;
  get(policyId: string): Promise<Policy>;
  getVersion(policyId: string, version: number): Promise<Policy>;
  templates(): Promise<PolicyTemplate[]>;
  validate(policy: object, timeRange?: TimeRange): Promise<PolicyValidation>;
  create(policy: PolicyConfiguration, change: Change): Promise<Policy>;
  /** Only if it still has the version. */
  replace(policyId: string, version: number, policy: PolicyConfiguration, change: Change): Promise<Policy>;
}

/** Policies may be large. */
const PAGE = String(Math.min(100, LIMITS.pageSizeMax));
const ADVICE = {
  401: 'give an API key that may read policies (audit:policy) by TALLYSTICK_API_KEY or --api-key',
  403: 'the API key may not read policies here: it needs audit:policy, and the tenant',
  404: 'is this the address of a service?',
} as const;
const CHANGE_ADVICE = {
  ...ADVICE,
  403: 'the API key may not change policies here: it needs audit:policy, the role Admin if it has roles, and the tenant',
  404: undefined,
} as const;
/** Of one policy the service says itself that it is missing. */
const ONE_ADVICE = { ...ADVICE, 404: undefined } as const;

export function servedPolicies(service: AskedService): ServedPolicies {
  const ask = askerOf(service, ADVICE);
  const policyAt = async (path: string, options?: AskOptions) => {
    const { answer } = await ask(path, options);
    if (!isPolicy(answer)) throw misshapen(path);
    return answer;
  };
  return {
    list: (filter = {}) => allPages(ask, 'policies', { ...filter, limit: PAGE }, isPolicy),
    get: (policyId) => policyAt(pathOf(policyId), { advice: ONE_ADVICE }),
    getVersion: (policyId, version) =>
      policyAt(`${pathOf(policyId)}/versions/${version}`, { advice: ONE_ADVICE }),
    templates: () => allPages(ask, 'policies/templates', { limit: PAGE }, isTemplate),
    async validate(policy, timeRange) {
      const body = { ...policy, ...(timeRange && { timeRange }) };
      const { answer, path } = await ask('policies/validate', { body });
      if (!isVerdict(answer)) throw misshapen(path);
      return answer;
    },
    create: (policy, change) =>
      retried(change, (headers) => policyAt('policies', { body: policy, headers, advice: CHANGE_ADVICE })),
    replace: (policyId, version, policy, change) =>
      retried(change, (headers) =>
        policyAt(pathOf(policyId), {
          method: 'PUT',
          body: policy,
          headers: { ...headers, 'if-match': `"${version}"` },
          advice: CHANGE_ADVICE,
        }),
      ),
  };
}

function pathOf(policyId: string): string {
  return `policies/${encodeURIComponent(policyId)}`;
}
