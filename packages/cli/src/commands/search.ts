// tallystick search: events of a tenant by a query, from a service, as a table or as lines of JSON; with --follow also
// those that arrive. Exit codes: 0 done; 1 failed; 2 the command line or the settings are wrong.

import type { AuditEvent } from '@tallystick/contract';
import { Command } from 'commander';
import { EXIT } from '../cannot-run.ts';
import { failedAsking } from '../failed-asking.ts';
import { warn } from '../output/complain.ts';
import { EventTable } from '../search/event-table.ts';
import { followEvents } from '../search/follow-events.ts';
import { type LineOutput, lineOutput } from '../output/line-output.ts';
import { paint } from '../output/paint.ts';
import { printable } from '../output/printable.ts';
import type { Server } from '../data-command.ts';
import { closingLine } from '../search/search-closing.ts';
import { type AskedSearch, QueryRefused, searchIn, type SearchOptions } from '../search/search-options.ts';
import { findEvents, servedEvents, type ServedEvents } from '../search/served-events.ts';
import { addServiceOptions, type ServiceAccess, serviceIn } from '../address-options.ts';

export function searchCommand(): Command {
  const command = new Command('search')
    .summary('find events of a running service')
    .description(
      "Finds events of a tenant by a query, such as 'action:Delete.* actor:u-1', and shows them, newest first. Without a " +
        'query: all events. A query that begins with a - stands behind "--", after all options.\n' +
        'With --follow it shows those of the open stream that match, in the order of the log, and then what arrives, until ' +
        'SIGINT. It reads the log itself for that: what does not match is read as well, and where secret events are among ' +
        'it, their notice is left in the log (Read.SecretEvent).\n' +
        'Exit code 0: done, also when nothing is found. 1: failed. 2: the command line or the query is wrong.',
    )
    .argument('[query]', 'words, "phrases", -not, prefix*, field:value');
  return addServiceOptions(command, 'whose events')
    .option(
      '--from <time>',
      'not before this day or instant; with --follow, begin with the stream of that time',
    )
    .option('--to <time>', 'not after this day or instant')
    .option('--limit <n>', 'show so many at most; 0 is all (default: 50)')
    .option('--all', 'show all')
    .option('--sort <fields>', 'timestamp, eventId, action, with - descending; or relevance')
    .option('--json', 'print an event a line, as JSON, and nothing else')
    .option('--follow', 'go on with what arrives')
    .action(async (query: string | undefined, options: SearchOptions) => {
      process.exitCode = await run(query ?? '', options);
    });
}

async function run(query: string, options: SearchOptions): Promise<number> {
  const out = lineOutput();
  try {
    // Loaded here, so that other commands do not wait for the whole service.
    const server = await import('@tallystick/server');
    const asked = searchIn(query, options, server);
    const service = serviceIn(options);
    const show = showerOf(options, out);
    if (options.follow) await follow(server, asked, { service, out, show });
    else await find(asked, { service, out, show, isTable: options.json !== true });
    return EXIT.done;
  } catch (error) {
    // Once nobody reads, what is under way is called off, and that is no failure.
    return out.closed.aborted ? EXIT.done : fail(error);
  }
}

type Show = (events: readonly AuditEvent[]) => Promise<void>;

interface Way {
  readonly service: ServiceAccess;
  readonly out: LineOutput;
  readonly show: Show;
}

/** What stands in JSON as an escape means the same there. */
function showerOf({ json }: SearchOptions, out: LineOutput): Show {
  if (json) return (events) => out.write(events.map((event) => printable(JSON.stringify(event))));
  const table = new EventTable(process.stdout.isTTY ? process.stdout.columns : undefined, (line) =>
    paint('bold', line),
  );
  return (events) => out.write(table.lines(events));
}

async function find(
  asked: AskedSearch,
  { service, out, show, isTable }: Way & { readonly isTable: boolean },
): Promise<void> {
  const events = servedEvents({ ...service, signal: out.closed });
  const { limit, byRelevance } = asked;
  let [shown, total, lagMs] = [0, 0, 0];
  let [isExact, isWhole] = [true, true];
  const pages = byRelevance ? [await events.best(asked, limit!)] : findEvents(events, asked, limit);
  for await (const page of pages) {
    await show(page.events);
    if (out.closed.aborted) return;
    shown += page.events.length;
    ({ total, isExact, lagMs } = page);
    isWhole = byRelevance ? shown >= total : page.cursor === undefined;
  }
  if (!isTable) return;
  const isUnknown = total === 0 && (await events.streams()).streams.length === 0;
  await out.write([closingLine({ shown, total, isExact, isWhole, lagMs, isUnknown }, service.tenant)]);
}

async function follow(server: Server, asked: AskedSearch, { service, out, show }: Way): Promise<void> {
  const { matches, passes, systemClock, wait } = server;
  const stop = new AbortController();
  // Listened to until the end, because a terminal and npm may both pass on one Ctrl-C.
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => stop.abort());
  const signal = AbortSignal.any([stop.signal, out.closed]);
  const events: ServedEvents = servedEvents({ ...service, signal });
  const { read, filters } = asked;
  try {
    const pages = followEvents({
      events,
      from: filters.timeRange?.from,
      signal,
      wait: (ms) => wait(systemClock, ms, signal),
      tell: (line) => warn(printable(line)),
    });
    for await (const page of pages) {
      await show(page.filter((event) => passes(filters, event) && matches(read, event)));
    }
  } catch (error) {
    // What was called off has not failed.
    if (!signal.aborted) throw error;
  }
}

function fail(error: unknown): number {
  const exitCode = failedAsking(error);
  if (error instanceof QueryRefused) process.stderr.write(`${error.place.join('\n')}\n`);
  return exitCode;
}
