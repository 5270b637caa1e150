// tallystick retention: what a running service purges. Exit codes: 0 done; 1 failed; 2 the command line is wrong.

import type { PolicyPreview, RetentionPreview } from '@tallystick/contract';
import { Command } from 'commander';
import { addServiceOptions, serviceIn, type ServiceOptions } from '../address-options.ts';
import { askerOf, misshapen, parameters } from '../ask-json.ts';
import { EXIT } from '../cannot-run.ts';
import { failedAsking } from '../failed-asking.ts';
import { areTextsIfAny, isCount, membersOf } from '../members.ts';
import { counted } from '../output/counted.ts';
import { lineOutput } from '../output/line-output.ts';
import { printable } from '../output/printable.ts';
import { type Columns, tableLines } from '../output/table.ts';
import { timeIn } from '../time-range-options.ts';

interface PreviewOptions extends ServiceOptions {
  readonly until?: string;
  readonly json?: true;
}

const ADVICE = {
  401: 'give an API key that may read policies (audit:policy) by TALLYSTICK_API_KEY or --api-key',
  403: 'the API key may not read policies here: it needs audit:policy, and the tenant',
  404: 'is this the address of a service?',
} as const;

const COLUMNS: Columns<PolicyPreview> = {
  EVENTS: ({ events }) => String(events),
  POLICY: ({ policyName, policyId }) => policyName ?? (policyId === undefined ? '(the default)' : ''),
  'POLICY ID': ({ policyId }) => policyId,
};

export function retentionCommand(): Command {
  return new Command('retention')
    .summary('say what is purged, and when')
    .description(
      'Says what a running service purges of a tenant because its retention has ended.\n' +
        'Exit code 0: done. 1: failed. 2: the command line is wrong.',
    )
    .addCommand(previewCommand());
}

function previewCommand(): Command {
  const command = new Command('preview')
    .summary('count what will be purged, by policy')
    .description(
      'Counts the stored events whose retention ends until a time, by the policy that has decided about them. Events under a ' +
        'legal hold are counted apart: they stay. Changes nothing.',
    );
  return addServiceOptions(command, 'whose events')
    .option('--until <time>', 'up to the end of this day, or this instant (default: now)')
    .option('--json', "print the service's answer, as JSON")
    .action(async ({ until, json, ...options }: PreviewOptions) => {
      try {
        const wanted = until === undefined ? undefined : timeIn(until, '--until', 'T23:59:59.999Z');
        const preview = await previewOf(options, wanted);
        const lines = json ? JSON.stringify(preview, null, 2).split('\n').map(printable) : linesOf(preview);
        await lineOutput().write(lines);
        process.exitCode = EXIT.done;
      } catch (error) {
        process.exitCode = failedAsking(error);
      }
    });
}

async function previewOf(options: ServiceOptions, until: string | undefined): Promise<RetentionPreview> {
  const query = parameters({ until });
  const ask = askerOf(serviceIn(options), ADVICE);
  const { answer, path } = await ask(`retention/preview${query === '' ? '' : `?${query}`}`);
  if (!isPreview(answer)) throw misshapen(path);
  return answer;
}

function isPreview(value: unknown): value is RetentionPreview {
  const { until, byPolicy, heldEvents } = membersOf(value);
  return (
    typeof until === 'string' &&
    isCount(heldEvents) &&
    Array.isArray(byPolicy) &&
    byPolicy
      .map(membersOf)
      .every((each) => isCount(each['events']) && areTextsIfAny(each, ['policyId', 'policyName']))
  );
}

function linesOf({ until, byPolicy, heldEvents }: RetentionPreview): string[] {
  const all = byPolicy.reduce((sum, { events }) => sum + events, 0);
  const held = heldEvents === 0 ? '' : `; ${counted(heldEvents, 'event')} more held`;
  const table = byPolicy.length === 0 ? [] : tableLines(COLUMNS, byPolicy);
  return [...table, `${counted(all, 'event')} to be purged until ${printable(until)}${held}`];
}
