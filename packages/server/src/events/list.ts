// Events by filters and words, page by page, from the index, without a limit on pages: walking all of them shows every event
// that was there at the beginning, each one once.

import type { Answer, InputOf } from '@tallystick/contract';
import type { Call, OwnViolation, Received } from '../call.ts';
import { type Cursors, readPage } from '../paging.ts';
import { isGuarded, sightOf } from '../policies/sight.ts';
import { readKinds } from '../query/filters.ts';
import type { EventIndex, SortKey } from './event-index.ts';
import { type FoundPageParts, isPlace, showFound } from './found-page.ts';
import { queryFaults, readQuery, readSort, readTimeRange, timeRangeFaults } from './question.ts';
import { noteSecretsRead } from './secret-read.ts';

export interface ListParts extends FoundPageParts {
  readonly index: EventIndex;
  readonly cursors: Cursors;
}

type ListInput = InputOf<'events.list'>;

export function createList(parts: ListParts) {
  return { perform: createPerform(parts), rules };
}

/** Each parameter is a member of the input. */
function rules({ q, startTime, endTime }: Received['input']): OwnViolation[] {
  const details = [...queryFaults(q, 'q'), ...timeRangeFaults(startTime, endTime, 'startTime')];
  return details.map((detail) => ({ member: detail.field, detail }));
}

function createPerform(parts: ListParts) {
  return async (call: Call, input: ListInput): Promise<Answer<'events.list'>> => {
    const { tenantId: _, ...asked } = input;
    const read = readPage<SortKey>(parts.cursors, call, asked, isPlace);
    const query = readQuery(input.q);
    const found = await parts.index.forTenant(call.tenant!).find(
      {
        query,
        filters: { ...filtersOf(input), ...readKinds(query, input.kind) },
        sight: sightOf(call).index,
        order: readSort(input.sort ?? ['-timestamp']),
        direction: read.direction,
        beyond: read.beyond,
        rowsMax: read.rowsMax,
        aggregations: [],
        isScored: false,
      },
      call.deadline,
    );
    const { data: rows, pagination } = read.page(
      found.events,
      ({ place }) => place,
      found.total,
      found.isCut,
    );
    const shown = await showFound(call, rows, parts);
    const events = shown.map(({ event }) => event);
    await noteSecretsRead(call, events, parts);
    return {
      kind: 'Done',
      body: { data: events, pagination },
      facts: { projectionLagMs: found.state.lagMs },
      isGuarded: events.some(isGuarded),
    };
  };
}

function filtersOf(input: ListInput) {
  const { startTime: from, endTime: to } = input;
  const range = { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
  const lists = {
    actorIds: input.actorId,
    actorTypes: input.actorType,
    actions: input.action,
    resourceIds: input.resourceId,
    resourceTypes: input.resourceType,
    classifications: input.classification,
    outcomes: input.outcome,
    correlationIds: input.correlationId,
    streamIds: input.streamId,
  };
  return {
    // Those that were given; a filter that is undefined is none.
    ...(Object.fromEntries(Object.entries(lists).filter(([, values]) => values !== undefined)) as {
      [N in keyof typeof lists]?: Exclude<(typeof lists)[N], undefined>;
    }),
    ...readTimeRange(range),
  };
}
