// Health: for load balancers, orchestrators and monitors. No credential, no tenant, no rate limit.

import type { AnswerKind } from '../answer.ts';
import { bytes, json, operation, restOnly } from '../operation.ts';
import type { Operation, RestBinding } from '../operation.ts';
import { HealthReport } from '../schemas/health.ts';

const asProbe = restOnly(
  'A probe of the process behind REST; other protocols have health conventions of their own.',
);

// A page that shows everything by one query shows the health, too.
const { graphql: _, ...exceptGraphql } = asProbe;

const byState = { Done: 'Healthy or degraded.', Unavailable: 'Unhealthy.' };
const always = { Done: 'The process answers.' };

/** All probes answer the same report and differ in what they look at. */
function probe<const Name extends string, Kinds extends AnswerKind>(
  name: Name,
  summary: string,
  place: Pick<RestBinding, 'path' | 'atRoot'>,
  answers: Readonly<Record<Kinds, string>>,
  gaps: Operation['gaps'] = asProbe,
) {
  return operation({
    name,
    summary,
    effect: 'Read',
    permission: null,
    tenant: 'None',
    input: {},
    output: json(HealthReport),
    answers,
    rest: { method: 'GET', ...place },
    gaps,
  });
}

export const HEALTH_OPERATIONS = [
  probe('health.get', 'Report on all parts of the service', { path: '/health' }, byState, exceptGraphql),
  probe('health.live', 'Answer as long as the process does', { path: '/health/live' }, always),
  probe('health.ready', 'Say whether requests can be served now', { path: '/health/ready' }, byState),
  probe('process.live', 'Answer as long as the process does', { path: '/health/live', atRoot: true }, always),
  probe(
    'process.ready',
    'Say whether requests can be served now',
    { path: '/health/ready', atRoot: true },
    byState,
  ),
  probe(
    'process.startup',
    'Say whether start-up is finished',
    { path: '/health/startup', atRoot: true },
    byState,
  ),
  operation({
    name: 'process.metrics',
    summary: 'Read the metrics of the whole process as Prometheus text',
    effect: 'Read',
    permission: 'audit.platform.manage',
    tenant: 'None',
    input: {},
    output: bytes('text/plain; version=0.0.4; charset=utf-8'),
    answers: { Done: 'Prometheus text.' },
    rest: { method: 'GET', path: '/metrics', atRoot: true },
    gaps: restOnly('Scraped by Prometheus; metrics.get has the figures as data.'),
  }),
] as const;
