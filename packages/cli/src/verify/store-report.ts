// What `tallystick verify` says of a data directory or a database: for people, and as JSON for programs.

import { INSTALLATION } from '@tallystick/evidence';
import { counted } from '../output/counted.ts';
import { lines, type Report } from './verify-report.ts';

export type StoreVerdict = Awaited<ReturnType<typeof import('@tallystick/server').checkStore>>;

/** What is shown to people of long lists; JSON has all of it. */
const ROWS_MAX = 50;

const KEY_WORDS: Readonly<Record<StoreVerdict['keysFrom'], string>> = {
  Given: 'the newest checkpoint of each log is signed by a key that was given',
  DataDirectory: 'those in the directory itself: --key tells whether they are the right ones',
};

/** What was verified, as it is called without any credential. */
export interface ShownStore {
  readonly kind: 'Directory' | 'Database';
  readonly shown: string;
  readonly isKeyless: boolean;
  /** Whether people are told what is no part of the evidence, which is a long list; JSON has it. */
  readonly isVerbose: boolean;
}

export function reportStore(
  { kind, shown, isKeyless, isVerbose }: ShownStore,
  verdict: StoreVerdict,
): Report {
  const { verified, faults, tenants, totals, keysFrom, notEvidence, index } = verdict;
  const title = `${verified ? 'verified' : 'NOT verified'}  ${shown}`;
  const rows: [string, string][] = [...faultRows(verdict)];
  const { streams, tiles, checkpoints } = totals;
  rows.push(
    ['entries', entriesText(verdict)],
    [
      'tree',
      `${counted(checkpoints, 'checkpoint')}, ${tiles} ${tiles === 1 ? 'hash' : 'hashes'} of tiles, ${counted(streams, 'stream')}`,
    ],
    [
      'keys',
      isKeyless ? 'NONE: the directory has no signing-keys, and no --key was given' : KEY_WORDS[keysFrom],
    ],
    ...logRows(verdict),
    ...deletionRows(verdict),
    ...undeletedRows(verdict),
    ...anchorRows(verdict),
    ['index', indexText(verdict)],
  );
  if (isVerbose)
    rows.push(['no part', `of the evidence, and not looked at: ${Object.keys(notEvidence).join(', ')}`]);
  const json = {
    verified,
    kind: 'Store',
    ...(kind === 'Database' ? { database: shown } : { directory: shown }),
    faults: faults.map(faultJson),
    totals,
    keysFrom,
    tenants: tenants.map(tenantJson),
    notEvidence,
    index: {
      compared: index.whyNot === undefined,
      events: index.events,
      eventsLeftOut: index.eventsLeftOut,
      whyNot: index.whyNot ?? null,
    },
  };
  return { text: lines(title, rows), json };
}

/** The log is what proves; but people read lists and searches, and would take "verified" for those too. */
function indexText({ index, faults }: StoreVerdict): string {
  const what = 'the index through which lists and searches find events';
  const { events, eventsLeftOut, whyNot } = index;
  if (whyNot !== undefined) return `NOT compared with the log: ${what}; ${whyNot}`;
  if (events + eventsLeftOut === 0)
    return 'none that could differ: lists and searches find these events in the log itself';
  const isSame = !faults.some(({ reason }) => reason === 'INDEX_DIFFERS');
  const leftOut =
    eventsLeftOut === 0
      ? ''
      : `; NOT compared: that of ${counted(eventsLeftOut, 'event')}, which is made again after a removal`;
  const said = `${what} ${isSame ? 'is' : 'is NOT'} what the log makes of ${counted(events, 'event')}`;
  return `${said}; later ones are found in the log itself${leftOut}`;
}

function entriesText({ totals, tenants: all }: StoreVerdict): string {
  const { tenants, entries, values, deleted, unexplained, undecided } = totals;
  const own = all.some(({ tenant }) => tenant === INSTALLATION) ? ' and the installation' : '';
  const gone = unexplained === 0 ? '' : `, ${unexplained} gone without a notice that was read`;
  const inPart = deleted + unexplained - (entries - values);
  const [some, how] = inPart > 0 ? [` (${inPart} of them in part)`, ', wholly or in part'] : ['', ''];
  const whole = `${entries} of ${counted(tenants, 'tenant')}${own}: ${values} with their values${some}`;
  const unknown =
    undecided === 0
      ? ''
      : `; NOT verified: when ${counted(undecided, 'event')} ${undecided === 1 ? 'expires' : 'expire'}, since the policies or settings of then, or parts of it that rules ask about, are not stored`;
  return `${whole}, ${deleted} deleted under notices${how}${gone}${unknown}`;
}

function faultRows({ faults }: StoreVerdict): [string, string][] {
  const rows = faults.slice(0, ROWS_MAX).flatMap(({ tenant, index, reason, message }): [string, string][] => [
    [
      'fault',
      `${tenant === INSTALLATION ? 'the installation' : (tenant ?? 'the store')}: ${reason}${index === undefined ? '' : ` at index ${index}`}`,
    ],
    ['because', message],
  ]);
  return more(rows, faults.length, 'faults');
}

/** How far what was verified goes. */
function logRows({ tenants }: StoreVerdict): [string, string][] {
  const logs = tenants.flatMap((tenant) => tenant.logs);
  const rows = logs.slice(0, ROWS_MAX).map(({ origin, entries, signedSize }): [string, string] => {
    const rest = entries - signedSize;
    const unsigned = rest > 0 ? `, the last ${rest} not signed yet` : '';
    return ['log', `${origin}: ${counted(entries, 'entry', 'entries')}${unsigned}`];
  });
  return more(rows, logs.length, 'logs');
}

/** Of each log that has lost content: how much, and the notices that explain it. */
function deletionRows({ tenants }: StoreVerdict): [string, string][] {
  const logs = tenants.flatMap((tenant) => tenant.logs).filter(({ explainedBy }) => explainedBy.length > 0);
  const rows = logs.slice(0, ROWS_MAX).map(({ origin, deleted, explainedBy }): [string, string] => {
    const shown = explainedBy.slice(0, ROWS_MAX).join(', ');
    const rest = explainedBy.length - ROWS_MAX;
    const notices = rest > 0 ? `${shown} and ${rest} more` : shown;
    return [
      'deletions',
      `${counted(deleted, 'entry', 'entries')} of ${origin}, explained by notices at ${notices}`,
    ];
  });
  return more(rows, logs.length, 'logs with deletions');
}

/** Of each log that has content which a notice says was deleted: the log is sound, and whoever asked for the deletion must know. */
function undeletedRows({ tenants }: StoreVerdict): [string, string][] {
  const logs = tenants.flatMap((tenant) => tenant.logs).filter(({ undeleted }) => undeleted > 0);
  const rows = logs
    .slice(0, ROWS_MAX)
    .map(({ origin, undeleted, firstUndeleted }): [string, string] => [
      'undeleted',
      `${counted(undeleted, 'entry', 'entries')} of ${origin}, the first at index ${firstUndeleted}: stored, though a notice says that it, or a part of it, was deleted; the removal is not finished, or somebody has put it back`,
    ]);
  return more(rows, logs.length, 'logs with undeleted content');
}

/** Where the anchor was lost, verified says less than elsewhere. */
function anchorRows({ tenants }: StoreVerdict): [string, string][] {
  const losses = tenants
    .flatMap((tenant) => tenant.logs)
    .flatMap(({ origin, anchorLosses }) => anchorLosses.map((loss) => ({ ...loss, origin })));
  const rows = losses
    .slice(0, ROWS_MAX)
    .map(({ origin, index, signedSize }): [string, string] => [
      'anchor',
      `that of ${origin} was lost, and was accepted as lost at index ${index}: it is anchored since size ${signedSize}, and nothing here tells whether it was put back to an earlier state before`,
    ]);
  return more(rows, losses.length, 'losses of the anchor');
}

function more(rows: [string, string][], count: number, what: string): [string, string][] {
  return count > ROWS_MAX ? [...rows, ['', `and ${count - ROWS_MAX} more ${what}; see --json`]] : rows;
}

function faultJson({ tenant, index, reason, message }: StoreVerdict['faults'][number]) {
  return { tenant: tenant ?? null, index: index ?? null, reason, message };
}

function tenantJson({ tenant, logs, streams, fault }: StoreVerdict['tenants'][number]) {
  return { tenant, verified: fault === undefined, streams, logs };
}
