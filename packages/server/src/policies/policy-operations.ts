// The operations on policies. A change is one commit: the new version, the notice in the tenant's log that tells of it, and the
// idempotency key of the request.

import {
  type Answer,
  AuditError,
  type InputOf,
  LIMITS,
  type PolicyId,
  type Rule,
} from '@tallystick/contract';
import { KINDS } from '@tallystick/evidence';
import { foreignTenant } from '../access/foreign-tenant.ts';
import type { Tenancy } from '../access/tenancy.ts';
import type { TenantRecord } from '../access/tenants.ts';
import { type Call, type OwnViolation, type Received, receivedMember } from '../call.ts';
import { type Cursors, inOrder, isId, isIndex, readPage, rowsIn } from '../paging.ts';
import { type ChangeRecords, recordsOf } from '../records/change.ts';
import { requireMatch } from '../records/if-match.ts';
import { UNCLASSIFIED } from '../repeats.ts';
import { KeyedQueue } from '../runtime/turns.ts';
import { type IdempotencyTime, idempotencyNowMs, onceOf } from '../streams/append/idempotency-key.ts';
import type { UsedIdempotencyKey } from '../streams/log.ts';
import type { Telemetry } from '../telemetry.ts';
import type { Policies } from './policies.ts';
import { budgetFaults } from './policy-budget.ts';
import {
  changedPolicy,
  contentOfPolicy,
  newPolicy,
  POLICY_KIND,
  type PolicyAuthor,
  type PolicyRecord,
  replacedPolicy,
  ruleOf,
  showPolicy,
} from './policy.ts';
import { policyFaults, ruleFaults } from './policy-faults.ts';
import { TEMPLATES } from './templates.ts';
import { createValidatePolicy, type ValidatePolicyParts } from './validate-policy.ts';

export interface PolicyOperationParts extends IdempotencyTime, ValidatePolicyParts {
  readonly policies: Policies;
  readonly tenancy: Pick<Tenancy, 'provide'>;
  readonly change: ChangeRecords;
  /** Whether it has decided something that is still stored. */
  readonly isInUse: (call: Call, policy: PolicyRecord) => Promise<boolean>;
  readonly cursors: Cursors;
  readonly nextId: () => string;
  readonly telemetry: Pick<Telemetry, 'info'>;
}

/** While others change the same policy. */
const ATTEMPTS_MAX = 20;

type Act = 'Created' | 'Updated' | 'Deleted';

export function createPolicyOperations(parts: PolicyOperationParts) {
  const changes = new PolicyChanges(parts);
  const found = (call: Call, policyId: PolicyId) => changes.found(call, policyId);
  return {
    'policies.create': {
      async perform(call: Call, { policy }: InputOf<'policies.create'>): Promise<Answer<'policies.create'>> {
        return { kind: 'Created', body: showPolicy(await changes.create(call, policy)) };
      },
      rules: policyRules,
      checkReach: requireOwnTenant,
      answerAgain: answerPolicyAgain(parts),
    },
    'policies.list': (call: Call, input: InputOf<'policies.list'>) => listPolicies(call, input, parts),
    'policies.get': async (call: Call, { policyId }: InputOf<'policies.get'>) =>
      ({ kind: 'Done', body: showPolicy(await found(call, policyId)) }) as const,
    'policies.replace': {
      async perform(
        call: Call,
        { policyId, ifMatch, policy }: InputOf<'policies.replace'>,
      ): Promise<Answer<'policies.replace'>> {
        const changed = await changes.change(call, policyId, ifMatch, (current, author) => ({
          policy: replacedPolicy(current, policy, author),
          act: 'Updated',
        }));
        return { kind: 'Done', body: showPolicy(changed) };
      },
      rules: policyRules,
      checkReach: requireOwnTenant,
      answerAgain: answerPolicyAgain(parts),
    },
    'policies.delete': async (call: Call, { policyId, ifMatch }: InputOf<'policies.delete'>) => {
      await changes.change(call, policyId, ifMatch, async (current, author) => {
        if (current.status === 'Active' && (await parts.isInUse(call, current))) throw inUse(current);
        // The versions before it keep the rules.
        return { policy: changedPolicy(current, { status: 'Deleted', rules: [] }, author), act: 'Deleted' };
      });
      return { kind: 'Removed', body: undefined } as const;
    },
    ...ruleOperations(changes, parts),
    'policies.listTemplates': async (call: Call, input: InputOf<'policies.listTemplates'>) =>
      listTemplates(call, input, parts),
    'policies.validate': { perform: createValidatePolicy(parts), checkReach: requireOwnTenant },
    'policies.listVersions': (call: Call, input: InputOf<'policies.listVersions'>) =>
      listVersions(call, input, parts),
    'policies.getVersion': async (call: Call, { policyId, version }: InputOf<'policies.getVersion'>) => {
      const policy = await parts.policies.version(call.tenant!, policyId, Number(version));
      if (policy?.version !== Number(version))
        throw new AuditError('POLICY_NOT_FOUND', `The policy ${policyId} has no version ${version}.`);
      return { kind: 'Done', body: showPolicy(policy) } as const;
    },
  };
}

function policyRules({ policy }: Received['input']): OwnViolation[] {
  return policyFaults(policy).map((detail) => ({ member: 'policy', detail }));
}

/** A policy that is sent back names its tenant. */
function requireOwnTenant(call: Call, { policy }: Received['input']): void {
  const mismatch = foreignTenant(receivedMember(policy, 'tenantId'), 'tenantId', call.tenant!);
  if (mismatch !== undefined) throw new AuditError(mismatch.code, mismatch.message, mismatch);
}

function ruleOperations(changes: PolicyChanges, parts: PolicyOperationParts) {
  return {
    'policies.addRule': {
      async perform(
        call: Call,
        { policyId, ifMatch, rule: sent }: InputOf<'policies.addRule'>,
      ): Promise<Answer<'policies.addRule'>> {
        let rule: Rule | undefined;
        const { version } = await changes.change(call, policyId, ifMatch, (current, author) => {
          requireSound(ruleFaults(sent, current.policyType, ''));
          requireRuleRoom(current);
          rule = ruleOf(sent, [], author.nextId);
          return {
            policy: changedPolicy(current, { rules: [...current.rules, rule] }, author),
            act: 'Updated',
          };
        });
        return { kind: 'Created', body: rule!, facts: { etag: `"${version}"` } };
      },
      /** Of a policy that is not active the type is not at hand; `perform` compares the effect with it. */
      rules: ({ policyId, rule }: Received['input'], { tenantRecord }: Call): OwnViolation[] => {
        const active = tenantRecord?.policies.find((each) => each.policyId === policyId);
        return ruleFaults(rule, active?.policyType, '').map((detail) => ({ member: 'rule', detail }));
      },
      async answerAgain(call: Call, _: Received, { note }: UsedIdempotencyKey) {
        const policy = await policyNoted(call, note, parts);
        // The version has added its last rule.
        return {
          kind: 'Repeated',
          body: policy.rules.at(-1)!,
          facts: { etag: `"${policy.version}"` },
        } as const;
      },
    },
    'policies.removeRule': async (
      call: Call,
      { policyId, ruleId, ifMatch }: InputOf<'policies.removeRule'>,
    ): Promise<Answer<'policies.removeRule'>> => {
      const { version } = await changes.change(call, policyId, ifMatch, (current, author) => {
        const rules = current.rules.filter((rule) => rule.ruleId !== ruleId);
        if (rules.length === current.rules.length)
          throw new AuditError('RULE_NOT_FOUND', `The policy ${policyId} has no rule ${ruleId}.`);
        return { policy: changedPolicy(current, { rules }, author), act: 'Updated' };
      });
      return { kind: 'Removed', body: undefined, facts: { etag: `"${version}"` } };
    },
  };
}

interface Changed {
  readonly policy: PolicyRecord;
  readonly act: Act;
}

class PolicyChanges {
  readonly #parts: PolicyOperationParts;
  /** Changes of a tenant run one after the other in this process, so that they do not conflict; nodes may pass a limit together. */
  readonly #turns = new KeyedQueue();

  constructor(parts: PolicyOperationParts) {
    this.#parts = parts;
  }

  async found(call: Call, policyId: PolicyId): Promise<PolicyRecord> {
    const policy = await this.#parts.policies.find(call.tenant!, policyId);
    if (policy === undefined || policy.status === 'Deleted') throw unknownPolicy(policyId);
    return policy;
  }

  async create(call: Call, configuration: InputOf<'policies.create'>['policy']): Promise<PolicyRecord> {
    const tenant = await this.#parts.tenancy.provide(call.tenant!);
    return this.#turns.take(call.tenant!, async () => {
      const policy = newPolicy(call.tenant!, configuration, this.#author(call));
      await this.#requireBudget(policy);
      // Nobody else can have changed it: its id is new.
      await this.#put(call, tenant, { policy, act: 'Created' });
      return policy;
    });
  }

  /** `ifMatch` is compared in each attempt: another node may have changed the policy. */
  change(
    call: Call,
    policyId: PolicyId,
    ifMatch: string | undefined,
    make: (current: PolicyRecord, author: PolicyAuthor) => Changed | Promise<Changed>,
  ): Promise<PolicyRecord> {
    return this.#turns.take(call.tenant!, async () => {
      for (let attempt = 1; ; attempt++) {
        const current = await this.found(call, policyId);
        requireMatch(ifMatch, current.version);
        const changed = await make(current, this.#author(call));
        if (changed.act !== 'Deleted') await this.#requireBudget(changed.policy);
        // A policy belongs to a tenant, so there is one.
        if (await this.#put(call, call.tenantRecord!, changed)) return changed.policy;
        if (attempt === ATTEMPTS_MAX)
          throw new AuditError(
            'SERVICE_UNAVAILABLE',
            `The policy ${policyId} is being changed by others; try again.`,
          );
      }
    });
  }

  /** False if another caller has changed it meanwhile. */
  async #put(call: Call, tenant: TenantRecord, { policy, act }: Changed): Promise<boolean> {
    const { change, telemetry } = this.#parts;
    const { policyId, version, policyType, tenantId: owner } = policy;
    const { requestId, correlationId } = call.correlation;
    // Report it before it is done, so that no change goes unseen.
    telemetry.info('a policy is changed', {
      tenant: owner,
      policyId,
      version,
      act,
      requestId,
      caller: policy.updatedBy,
    });
    const once = onceOf(call, tenant, idempotencyNowMs(this.#parts), UNCLASSIFIED, `${policyId} ${version}`);
    const notice = {
      kind: KINDS.policyChange,
      action: ACTIONS[act],
      resource: { resourceType: 'Policy', resourceId: policyId },
      payload: { policyId, policyVersion: version, policyType, act },
    };
    const write = {
      kind: POLICY_KIND,
      id: policyId,
      version,
      content: contentOfPolicy(policy),
      notice,
      noticeId: policy.noticeId,
    } as const;
    const result = recordsOf(await change({ owner, writes: [write], correlationId, once }));
    if (!('status' in result)) return true;
    if (result.status === 'NameTaken') throw duplicate(policy.name);
    return false;
  }

  async #requireBudget(policy: PolicyRecord): Promise<void> {
    requireSound(budgetFaults(policy, await this.#parts.policies.all(policy.tenantId)));
  }

  #author(call: Call): PolicyAuthor {
    const { clock, nextId } = this.#parts;
    return { by: call.caller!.name, nowMs: clock.now(), nextId };
  }
}

const ACTIONS = { Created: 'Create.Policy', Updated: 'Update.Policy', Deleted: 'Delete.Policy' } as const;

/** The version that the first answer showed. */
async function policyNoted(
  call: Call,
  note: string,
  { policies }: PolicyOperationParts,
): Promise<PolicyRecord> {
  const [policyId = '', version] = note.split(' ');
  const policy = await policies.version(call.tenant!, policyId, Number(version));
  if (policy === undefined) throw unknownPolicy(policyId);
  return policy;
}

function answerPolicyAgain(parts: PolicyOperationParts) {
  return async (call: Call, _: Received, { note }: UsedIdempotencyKey) =>
    ({ kind: 'Repeated', body: showPolicy(await policyNoted(call, note, parts)) }) as const;
}

async function listPolicies(
  call: Call,
  input: InputOf<'policies.list'>,
  { policies, cursors }: PolicyOperationParts,
): Promise<Answer<'policies.list'>> {
  const { policyType, status, active } = input;
  const listed = (await policies.all(call.tenant!)).filter(
    (policy) =>
      (policyType === undefined || policyType.includes(policy.policyType)) &&
      (status === undefined ? policy.status !== 'Deleted' : status.includes(policy.status)) &&
      (active === undefined || active === (policy.status === 'Active')),
  );
  const read = readPage(cursors, call, input, isId);
  const rows = rowsIn(listed, ({ policyId }) => policyId, inOrder(read));
  const { data, pagination } = read.page(rows, ({ policyId }) => policyId, listed.length);
  return { kind: 'Done', body: { data: data.map(showPolicy), pagination } };
}

/** Templates are the same for everybody, and few. */
async function listTemplates(
  call: Call,
  input: InputOf<'policies.listTemplates'>,
  { cursors }: PolicyOperationParts,
): Promise<Answer<'policies.listTemplates'>> {
  const read = readPage(cursors, call, input, isId);
  const rows = rowsIn(TEMPLATES, ({ templateId }) => templateId, inOrder(read));
  const { data, pagination } = read.page(rows, ({ templateId }) => templateId, TEMPLATES.length);
  return { kind: 'Done', body: { data, pagination } };
}

/** Large versions leave others to the next page. */
const PAGE_LENGTH_MAX = 2 * 1024 * 1024;

async function listVersions(
  call: Call,
  input: InputOf<'policies.listVersions'>,
  { policies, cursors }: PolicyOperationParts,
): Promise<Answer<'policies.listVersions'>> {
  const { policyId } = input;
  const read = readPage(cursors, call, input, isIndex);
  // Also of one that is deleted: explanations go on naming its versions.
  const current = await policies.find(call.tenant!, policyId);
  if (current === undefined) throw unknownPolicy(policyId);
  const { version: newest } = current;
  const isNext = read.direction === 'Next';
  const first = read.beyond === undefined ? (isNext ? newest : 1) : read.beyond + (isNext ? -1 : 1);
  const versions: PolicyRecord[] = [];
  let length = 0;
  for (let at = first; at >= 1 && at <= newest && versions.length < read.rowsMax; at += isNext ? -1 : 1) {
    if (length > PAGE_LENGTH_MAX) break;
    const version = at === newest ? current : await policies.version(call.tenant!, policyId, at);
    if (version === undefined) continue;
    versions.push(version);
    length += JSON.stringify(version.rules).length;
  }
  const isCut = length > PAGE_LENGTH_MAX;
  const { data, pagination } = read.page(versions, ({ version }) => version, newest, isCut);
  return { kind: 'Done', body: { data: data.map(showPolicy), pagination } };
}

function requireSound(details: ReturnType<typeof ruleFaults>): void {
  const [first] = details;
  if (first !== undefined)
    throw new AuditError('VALIDATION_FAILED', `${first.field || 'It'} ${first.issue}.`, { details });
}

function requireRuleRoom({ rules }: PolicyRecord): void {
  if (rules.length < LIMITS.rulesMax) return;
  const issue = `must be at most ${LIMITS.rulesMax} in a policy, and this one has as many`;
  throw new AuditError('VALIDATION_FAILED', `rules ${issue}.`, { details: [{ field: 'rules', issue }] });
}

function unknownPolicy(policyId: PolicyId): AuditError {
  return new AuditError('POLICY_NOT_FOUND', `There is no policy ${policyId}.`);
}

function duplicate(name: string): AuditError {
  const issue = 'is the name of another policy of the tenant';
  return new AuditError('DUPLICATE_NAME', `name ${issue}: ${name}.`, {
    details: [{ field: 'name', issue, value: name }],
  });
}

function inUse({ name, policyId }: PolicyRecord): AuditError {
  return new AuditError(
    'POLICY_IN_USE',
    `The policy ${name} (${policyId}) has decided how events are classified or kept that are still stored, or holds some; set it inactive first.`,
  );
}
