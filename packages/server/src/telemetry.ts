// Writes all diagnostics of this process. A line is a level, a message and facts. In Production
// it is one JSON object, `{"time","level","message",…facts}`; for people it is readable text. The code that writes
// a line chooses its facts – never headers, query strings or bodies – and values known to be secret are masked even
// when they come inside an error's message.

import { type Clock, instant } from './runtime/clock.ts';

export type Level = 'Debug' | 'Info' | 'Warn' | 'Error';

export type Fact = string | number | boolean | undefined;
export type Facts = Readonly<Record<string, Fact>>;

/** What readers come upon, beside all that is searched for. */
export type Alterable = 'Event' | 'Keyring' | 'Record';

export interface Telemetry {
  debug(message: string, facts?: Facts): void;
  info(message: string, facts?: Facts): void;
  warn(message: string, facts?: Facts): void;
  /** Something is wrong on our side; the error's stack goes along, for the operator's eyes only. */
  error(message: string, error: unknown, facts?: Facts): void;
  /** An error about something that is not as this service has left it. Health tells of it for a day, or until it is sound again. */
  altered(what: Alterable, message: string, error: unknown, facts?: Facts): void;
  sound(what: Alterable): void;
  isAltered(what: Alterable): boolean;
  /** Whether a line of this level would be written; spares the making of facts on hot paths. */
  writes(level: Level): boolean;
}

export interface TelemetryOptions {
  readonly clock: Clock;
  readonly level: Level;
  readonly form: 'json' | 'readable';
  /** Texts that must not appear in any line. */
  readonly secrets: readonly string[];
  readonly write: (line: string) => void;
}

/** A whole round of the scrubber. */
const ALTERED_NS = 24 * 3600 * 1e9;

const RANK: Readonly<Record<Level, number>> = { Debug: 0, Info: 1, Warn: 2, Error: 3 };

export function createTelemetry(options: TelemetryOptions): Telemetry {
  const { clock, level: least, form, write } = options;
  const secrets = options.secrets.filter((secret) => secret !== '');
  const mask = (text: string) => secrets.reduce((masked, secret) => masked.replaceAll(secret, '***'), text);
  const writes = (level: Level) => RANK[level] >= RANK[least];

  const emit = (level: Level, message: string, facts: Facts) => {
    if (!writes(level)) return;
    const masked = Object.entries(facts).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, typeof value === 'string' ? mask(value) : value] as const],
    );
    const time = instant(clock.now());
    write(
      form === 'json'
        ? json(time, level, mask(message), masked)
        : readable(time, level, mask(message), masked),
    );
  };

  const error = (message: string, cause: unknown, facts: Facts = {}) =>
    emit('Error', message, { ...facts, ...describe(cause) });
  const alteredNs = new Map<Alterable, number>();
  return {
    debug: (message, facts = {}) => emit('Debug', message, facts),
    info: (message, facts = {}) => emit('Info', message, facts),
    warn: (message, facts = {}) => emit('Warn', message, facts),
    error,
    altered(what, message, cause, facts) {
      alteredNs.set(what, clock.monotonicNs());
      error(message, cause, facts);
    },
    sound: (what) => void alteredNs.delete(what),
    isAltered: (what) => clock.monotonicNs() - (alteredNs.get(what) ?? -Infinity) < ALTERED_NS,
    writes,
  };
}

type MaskedFacts = readonly (readonly [string, string | number | boolean])[];

function json(time: string, level: Level, message: string, facts: MaskedFacts): string {
  const head = { time, level, message };
  return `${JSON.stringify(Object.assign({ ...head }, Object.fromEntries(facts), head))}\n`;
}

/** `10:31:07.123 warn  message  name=value`, a stack on lines of its own. */
function readable(time: string, level: Level, message: string, facts: MaskedFacts): string {
  const stack = facts.find(([name]) => name === 'stack')?.[1];
  const pairs = facts
    .filter(([name]) => name !== 'stack')
    .map(([name, value]) => `  ${name}=${quoted(value)}`);
  const head = `${time.slice(11, 23)} ${level.toLowerCase().padEnd(5)} ${message}${pairs.join('')}\n`;
  return stack === undefined ? head : `${head}${String(stack).replace(/^/gm, '    ')}\n`;
}

/** Text from outside cannot break out of its line or colour a terminal. */
function quoted(value: string | number | boolean): string {
  if (typeof value !== 'string' || /^[\x21-\x7e]+$/.test(value)) return String(value);
  return JSON.stringify(value).replace(/[\x7f-\x9f]/g, '\ufffd');
}

function describe(error: unknown): Facts {
  if (!(error instanceof Error)) return { error: String(error) };
  const cause = error.cause instanceof Error ? `${error.cause.name}: ${error.cause.message}` : undefined;
  return { error: `${error.name}: ${error.message}`, cause, stack: error.stack };
}
