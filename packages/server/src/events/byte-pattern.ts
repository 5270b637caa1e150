// A pattern of the contract as a table over bytes: asks whether a text matches where it stands in canonical JSON, without
// making a string of it. Each byte leads from one state to the next; nothing leads out of state 0. Takes characters,
// classes, groups, alternatives and counts, from `^` to `$`, and throws for anything else.

export type BytePattern = (bytes: Uint8Array, from: number, to: number) => boolean;

/** A state is a byte, and a table has a row of so many places for each. */
const ROW = 256;
/** By their code, the characters that can match; those past them, and those that JSON escapes, leave a text undecided. */
const ASCII = String.fromCharCode(...Array(0x80).keys()).replaceAll(/["\\]/g, '\u00ff');

export function bytePattern(source: string): BytePattern {
  const tokens: readonly string[] = source.match(/\[[^\]]+\]|\\.|\{[\d,]+\}|\(\?:|./g) ?? [];
  const [begins, ...left] = tokens;
  const end: Step = { to: [] };
  if (begins !== '^') throw unknown(source);
  const begin = groupOf(left, '$')(end);
  const { table, accepts } = tableOf(begin, end, classesOf(tokens));
  if (left.length > 0 || accepts.length > ROW) throw unknown(source);
  return (bytes, from, to) => {
    let state = 1;
    for (let at = from; at < to; at++) state = table[state * ROW + bytes[at]!]!;
    return accepts[state] === 1;
  };
}

/** A place in the pattern: leads on by a character, or without one, to one place or several. */
interface Step {
  readonly takes?: Uint8Array;
  readonly to: Step[];
}

/** Places one piece of a pattern before what follows it. */
type Piece = (next: Step) => Step;

/** Takes the tokens up to the one that closes the group. */
function groupOf(tokens: string[], closing: string): Piece {
  const branches: Piece[][] = [[]];
  for (let token = tokens.shift(); token !== closing; token = tokens.shift()) {
    if (token === '|') branches.push([]);
    else
      branches.at(-1)!.push(countedOf(token?.[0] === '(' ? groupOf(tokens, ')') : singleOf(token), tokens));
  }
  return (next) => ({
    to: branches.map((pieces) => pieces.reduceRight((after, piece) => piece(after), next)),
  });
}

const COUNTS: Readonly<Record<string, string>> = { '?': '{0,1}', '*': '{0,}', '+': '{1,}' };

function countedOf(piece: Piece, tokens: string[]): Piece {
  const count = /^\{(\d+)(,?)(\d*)\}$/.exec(COUNTS[tokens[0] ?? ''] ?? tokens[0] ?? '');
  if (count === null) return piece;
  tokens.shift();
  const min = Number(count[1]);
  const max = count[2] === '' ? min : count[3] === '' ? Infinity : Number(count[3]);
  return (next) => {
    let begin = next;
    if (max === Infinity) begin = repeated(piece, next);
    else for (let i = min; i < max; i++) begin = { to: [piece(begin), next] };
    for (let i = 0; i < min; i++) begin = piece(begin);
    return begin;
  };
}

function repeated(piece: Piece, next: Step): Step {
  const loop: Step = { to: [next] };
  loop.to.push(piece(loop));
  return loop;
}

const known = new Map<string, Uint8Array>();

/** One character of a class, or a character that stands for itself; the engine decides once which characters it takes. */
function singleOf(token = ''): Piece {
  if (!/^(?:\[.+\]|\\(?:d|\W)|[^[\]\\{}*+?.()|^$])$/.test(token)) throw unknown(token);
  let takes = known.get(token);
  if (takes === undefined) {
    takes = new Uint8Array(ROW);
    for (const { index } of ASCII.matchAll(new RegExp(token, 'gu'))) takes[index] = 1;
    known.set(token, takes);
  }
  return (next) => ({ takes, to: [next] });
}

function unknown(pattern: string): Error {
  return new Error(`no table can be made of the pattern ${pattern}`);
}

/** A state of the table is a set of steps that a text may have come to. */
function tableOf(
  begin: Step,
  end: Step,
  classes: readonly number[][],
): { table: Uint8Array; accepts: Uint8Array } {
  const states: ReadonlySet<Step>[] = [new Set(), reached([begin])];
  const rows: Uint8Array[] = [];
  for (const steps of states) {
    const row = new Uint8Array(ROW);
    rows.push(row);
    for (const codes of classes) {
      const taking = [...steps].filter(({ takes }) => takes?.[codes[0]!] === 1);
      const after = reached(taking.flatMap(({ to }) => to));
      const known = states.findIndex((state) => state.size === after.size && after.isSubsetOf(state));
      const next = known === -1 ? states.push(after) - 1 : known;
      for (const code of codes) row[code] = next;
    }
  }
  const accepts = states.map((steps) => (steps.has(end) ? 1 : 0));
  return { table: Buffer.concat(rows), accepts: Uint8Array.from(accepts) };
}

/** Characters that the same pieces of a pattern take. */
function classesOf(tokens: readonly string[]): number[][] {
  const takes = [...new Set(tokens)].flatMap((token) => known.get(token) ?? []);
  const codes = Array.from(ASCII, (_, code) => code);
  return [...Map.groupBy(codes, (code) => takes.map((one) => one[code]).join('')).values()];
}

/** These steps, and all that they lead to without a character. */
function reached(steps: readonly Step[]): ReadonlySet<Step> {
  const all = new Set(steps);
  for (const { takes, to } of all) if (takes === undefined) for (const next of to) all.add(next);
  return all;
}
