// Every limit of the interface, in one place: plain numbers with the unit at the end of the name, and a line for
// the reference. Schemas, the gateway and the loops read them from here; none is written down a second time.

import { entriesOf, tableOf } from './typed-object.ts';

const KB = 1024;
const MB = 1024 * KB;
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

type Limit = readonly [value: number, note: string];

export const LIMIT_GROUPS = {
  Requests: {
    requestBytesMax: [MB, 'A request body, after decompression.'],
    requestValuesMax: [
      100_000,
      'JSON values of a request body, objects and lists included, outside of `context` and `payload`.',
    ],
    headerBlockBytesMax: [16 * KB, 'All request headers together.'],
    tenantIdLengthMax: [64, 'A tenant id.'],
    correlationIdLengthMax: [128, '`X-Correlation-Id`: visible ASCII characters.'],
    idempotencyKeyLengthMax: [255, '`Idempotency-Key`: visible ASCII characters.'],
    idempotencyWindowMs: [DAY, 'How long a repeated `Idempotency-Key` is recognised.'],
    headersTimeoutMs: [10 * SECOND, 'Until all headers of a request have arrived.'],
    requestTimeoutMs: [
      35 * SECOND,
      'Until the whole request has arrived. Its processing may take as long again, where no other limit is named.',
    ],
    errorValueLengthMax: [200, '`value` in an error detail is cut here.'],
    errorDetailsMax: [1000, 'Details that an error lists: there the check stops.'],
  },
  Events: {
    payloadBytesMax: [64 * KB, '`payload` as compact JSON in UTF-8.'],
    contextBytesMax: [64 * KB, '`context` as compact JSON in UTF-8.'],
    nestingDepthMax: [32, 'Levels of JSON inside an event; the event itself is the first.'],
    actionLengthMin: [3, '`action`, in characters.'],
    actionLengthMax: [100, '`action`, in characters.'],
    userNameLengthMax: [320, '`actor.userName`, in characters.'],
    identityLengthMax: [512, 'Every other text of `actor` and `resource`, in characters.'],
    timestampFractionDigitsMax: [9, 'Digits of a fraction of a second that are kept.'],
    timestampAheadMsMax: [5 * MINUTE, 'How far `timestamp` may lie in the future.'],
  },
  Batches: {
    batchEventsMin: [1, 'Events in a batch; 100 to 500 are recommended.'],
    batchEventsMax: [1000, 'Events in a batch; 100 to 500 are recommended.'],
    batchBytesMax: [10 * MB, 'The body of a batch, after decompression.'],
    batchTimeoutMs: [60 * SECOND, 'The processing of a batch.'],
    batchRequestTimeoutMs: [65 * SECOND, 'Until a whole batch has arrived.'],
  },
  'Lists and search': {
    pageSizeDefault: [100, 'Items in a page when `limit` is not given.'],
    pageSizeMax: [1000, 'Items in a page.'],
    cursorLifetimeMs: [DAY, 'How long a cursor works.'],
    cursorLengthMax: [4096, 'A cursor, in characters.'],
    listExactTotalMax: [10_000, 'Up to here `total` is exact; past it, it is a lower bound.'],
    queryLengthMax: [4096, 'A full-text query, in characters.'],
    queryTermsMax: [64, 'Terms in one query.'],
    queryDepthMax: [32, 'Parentheses and negations inside one another in a query.'],
    searchedWordsMax: [10_000, 'Words of an event that are searched: the first ones.'],
    searchedSameWordsMax: [255, 'Times that the same word of an event is searched.'],
    searchedWordBytesMax: [64, 'A word is compared up to here, in bytes of UTF-8.'],
    highlightedFieldsMax: [10, 'Fields of a result that have highlights.'],
    filterValuesMax: [100, 'Values in one filter.'],
    sortFieldsMax: [4, 'Fields in one sort order.'],
    relatedEntitiesMax: [20, 'Events that are named for each relation to one: the newest.'],
    searchResultsMax: [10_000, 'Results of one search over all pages; to see more, narrow the search.'],
    searchTimeoutMs: [30 * SECOND, 'One search.'],
    aggregationBucketsMax: [50, 'Buckets of one aggregation; the rest is in `otherCount`.'],
    aggregationExactMatchesMax: [100_000, 'Up to here aggregations are exact under any filter.'],
  },
  GraphQL: {
    graphqlTokensMax: [15_000, 'Tokens of a document.'],
    graphqlDepthMax: [12, 'Fields inside one another.'],
    graphqlIntrospectionDepthMax: [16, 'Fields inside one another below `__schema` and `__type`.'],
    graphqlFieldsMax: [20, 'Root fields of a query.'],
    graphqlMutationsMax: [10, 'Root fields of a mutation; one, with an `Idempotency-Key`.'],
    graphqlAliasesMax: [30, 'Aliases in a document.'],
    graphqlRepeatsMax: [100, 'Fields of a document that their selection has already, by name or alias.'],
    graphqlFragmentsMax: [50, 'Fragments of a document, those without a name not counted.'],
    graphqlCostMax: [50_000, 'The cost of a document, which is worked out before it is executed.'],
    graphqlAnswerFieldsMax: [75_000, 'Fields of an answer, counted while it is made.'],
    graphqlErrorsMax: [100, 'Errors that an answer lists.'],
    graphqlOperationsAtOnceMax: [4, 'Operations that a request waits for at the same time.'],
  },
  MCP: {
    mcpPageSizeDefault: [20, 'Items in a page that a tool answers when `limit` is not given.'],
    mcpResultLengthMax: [
      100_000,
      'The answer of a tool that lists, in characters: fewer items than `limit` where they are large.',
    ],
    mcpArgumentsBytesMax: [
      131_072,
      'Arguments of a tool, as JSON, without the one that REST sends as the body.',
    ],
    mcpMemberBytesMax: [
      4096,
      'Another member of a message, as JSON: a name, an address, the arguments of a prompt.',
    ],
    promptArgumentLengthMax: [512, 'An argument of a prompt, in characters: the rest is cut off.'],
  },
  'Answers that last': {
    lastingAnswersPerTenantMax: [100, 'Tails and streams of a tenant at a time, on one node.'],
    lastingAnswersMax: [500, 'Tails and streams at a time, on one node.'],
    lastingAnswerMsMax: [HOUR, 'Then it ends; clients come back with the last sequence that they have seen.'],
  },
  Proofs: {
    checkpointWaitMsMax: [
      5 * SECOND,
      'How long a proof, or the newest checkpoint, is waited for when none covers it yet.',
    ],
  },
  'Request rates': {
    requestsPerMinuteStandard: [1000, 'Ingestion requests of a tenant of tier `Standard`; a batch is one.'],
    requestsPerMinutePremium: [10_000, 'Ingestion requests of a tenant of tier `Premium`; a batch is one.'],
  },
  Administration: {
    nameLengthMax: [200, 'The name of a key, policy, rule, hold, export or subscription.'],
    descriptionLengthMax: [2000, 'A description or a reason.'],
    deadLetterLifetimeMs: [7 * DAY, 'How long a dead letter is held, and how long a paused delivery waits.'],
  },
  Policies: {
    ruleIdLengthMax: [64, 'A `ruleId` that is sent back.'],
    rulesMax: [500, 'Rules in one policy.'],
    keyNetworksMax: [100, 'Networks from which an API key may be used.'],
    policiesMax: [1000, 'Policies of a tenant, without those that are deleted.'],
    policyRecordsMax: [10_000, 'Policies of a tenant, with those that are deleted.'],
    policiesLengthMax: [2 * 1024 * 1024, 'The rules of all policies of a tenant, as JSON, in characters.'],
    activeRulesMax: [2000, 'Rules in the active policies of a tenant.'],
    activeConditionsMax: [
      10_000,
      'Conditions in the active policies of a tenant, in its active holds, and in its subscriptions.',
    ],
    activeSearchesMax: [
      200,
      'Conditions with `contains` or `[*]` in the active policies of a tenant, in its active holds, and in its subscriptions.',
    ],
    activeRedactFieldsMax: [500, '`redactFields` in the active policies of a tenant.'],
    activeDetectorsMax: [
      20,
      'Conditions with `detects` in the active policies of a tenant, in its active holds, and in its subscriptions: each reads all of a payload.',
    ],
    activeHoldsMax: [200, 'Legal holds of a tenant that are active.'],
    holdRecordsMax: [10_000, 'Legal holds of a tenant, with those that are released.'],
    holdsLengthMax: [4 * 1024 * 1024, 'All legal holds of a tenant, as JSON, in characters.'],
    priorityMax: [1_000_000, '`priority` of a policy.'],
    priorityDefault: [100, '`priority` when it is not given.'],
    redactFieldsMax: [100, 'Fields that one rule or request redacts.'],
    violationTypeLengthMax: [64, '`violationType`: letters.'],
    conditionsMax: [
      64,
      'Conditions of one rule, hold or subscription: each operator of each path is one, and so is an empty object.',
    ],
    conditionPathStepsMax: [16, 'Steps in a path of a condition; `payload.lines[0].sku` has four.'],
    conditionPathLengthMax: [512, 'A path of a condition, in characters.'],
    conditionItemsMax: [1000, 'Items in a list of a condition.'],
    conditionTextLengthMax: [4096, 'A text that a condition compares with, in characters.'],
  },
  Exports: {
    exportsRunningMax: [3, 'Exports that run at the same time in a tenant.'],
    exportsWaitingMax: [20, 'Exports that wait in a tenant.'],
    exportFileLifetimeMs: [7 * DAY, 'How long the file of an export is kept.'],
    downloadLinkLifetimeMs: [DAY, 'How long a signed download link works.'],
    destinationTextLengthMax: [
      1024,
      'A host, path, bucket, name or password of a destination, in characters.',
    ],
    privateKeyLengthMax: [16 * KB, 'The private key of a destination, in characters.'],
    exportContentColumnsMax: [50, 'Columns of a CSV for single values of context and payload.'],
    exportSchedulesMax: [20, 'Schedules of exports that a tenant has.'],
    exportCancelMs: [2 * SECOND, 'Within this time a cancelled export has stopped.'],
  },
  Subscriptions: {
    secretLengthMax: [256, 'A signing secret, in visible characters.'],
    urlLengthMax: [2048, 'The URL of a subscription, in characters.'],
    secretGraceMsMax: [7 * DAY, 'How long a secret that was replaced may go on signing.'],
    customHeadersMax: [50, 'Custom headers of a subscription.'],
    customHeaderLengthMax: [1024, 'The value of a custom header, in characters.'],
    customHeaderNameLengthMax: [128, 'The name of a custom header, in characters.'],
    customHeadersLengthMax: [
      8 * KB,
      'All custom headers of a subscription, names and values, in characters.',
    ],
    pemLengthMax: [32 * KB, 'Certificates or a private key of a subscription in PEM, in characters.'],
    subscriptionsMax: [500, 'Subscriptions of a tenant, without those that are deleted.'],
    subscriptionRecordsMax: [10_000, 'Subscriptions of a tenant, with those that are deleted.'],
    subscriptionsLengthMax: [4 * 1024 * 1024, 'All subscriptions of a tenant, as JSON, in characters.'],
    deliveryTimeoutSecondsDefault: [10, 'One attempt, from name resolution to the end of the answer.'],
    deliveryTimeoutSecondsMax: [30, 'The longest `timeoutSeconds` of a subscription.'],
  },
  Webhooks: {
    deliveriesPerSecondMax: [100, 'Deliveries to one subscription, and to one origin within a tenant.'],
    deliveryAttemptsMax: [10, 'Attempts before a delivery becomes a dead letter.'],
    deliveryAnswerBytesMax: [64 * KB, 'How much of a consumer’s answer is read.'],
    deliveryAnswerLengthMax: [KB, 'How many characters of it are shown.'],
    retryJitterPercent: [20, 'Each retry delay varies by this much, up or down.'],
    retryDelayMsMin: [SECOND, 'The shortest delay that `retry` of a subscription may ask for.'],
    retryDelayMsMax: [DAY, 'The longest delay that `retry` of a subscription may ask for.'],
    retryAfterMsMax: [HOUR, 'How long a consumer’s `Retry-After` is honoured.'],
    circuitFailuresMax: [10, 'Consecutive failures that pause a subscription.'],
    circuitCooldownMs: [HOUR, 'How long a paused subscription rests before one test delivery.'],
    circuitFailedProbesMax: [24, 'Failed test deliveries that move a subscription to `Failed`.'],
    replayWindowMs: [5 * MINUTE, 'Consumers should refuse a delivery that is older.'],
    deduplicationWindowMs: [DAY, 'Consumers should remember a `webhookId` this long.'],
  },
} as const satisfies Record<string, Record<string, Limit>>;

type Groups = typeof LIMIT_GROUPS;
export type LimitName = { [G in keyof Groups]: keyof Groups[G] }[keyof Groups];

/** The values of all groups by name. */
export const LIMITS: Readonly<Record<LimitName, number>> = tableOf(
  Object.values<Readonly<Partial<Record<LimitName, Limit>>>>(LIMIT_GROUPS)
    .flatMap((group) => entriesOf(group))
    .map(([name, [value]]) => [name, value] as const),
);

/** Delay before each delivery attempt: at once, then 30 s, 5 min, 15 min, and an hour from the fifth on. */
export const RETRY_DELAYS_MS: readonly number[] = [
  0,
  30 * SECOND,
  5 * MINUTE,
  15 * MINUTE,
  ...Array.from({ length: 6 }, () => HOUR),
];

/** What the service aims at, in milliseconds at the 95th and the 99th percentile. */
export const SERVICE_LEVELS = {
  ingestLatencyMs: { p95: 500, p99: 1000 },
  queryLatencyMs: { p95: 200, p99: 500 },
  projectionLagMs: { p95: 5000, p99: 10_000 },
} as const;
