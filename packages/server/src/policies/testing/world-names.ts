// Puts aside what the log itself makes, so that the answers of two worlds can be compared: ids and hashes get names in the order
// in which they are met, so that the same one has the same name everywhere. Cursors, checkpoints and salts have none.

/** ULIDs, and SHA-256 hashes in hexadecimal. */
const MADE = /\b(?:[0-7][0-9A-HJKMNP-TV-Z]{25}|[0-9a-f]{64})\b/g;

const ASIDE: readonly (readonly [RegExp, string])[] = [
  [/"(\w*[cC]ursor)":"[^"]*"/g, '"$1":"…"'],
  [/\bcursor=[^"&>]*/g, 'cursor=…'],
  [/"(traceId|commitment)":"[^"]*"/g, '"$1":"…"'],
  // How far the log is signed when somebody asks.
  [/"status":"(?:Chained|Checkpointed)"/g, '"status":"…"'],
];

export class Names {
  readonly #tenant: string;
  readonly #names = new Map<string, string>();

  constructor(tenant: string) {
    this.#tenant = tenant;
  }

  /** For ids that the worlds know by a name that both share, or by themselves. */
  name(id: string, name = id): void {
    this.#names.set(id, name);
  }

  put(text: string): string {
    const rest = ASIDE.reduce((all, [made, name]) => all.replaceAll(made, name), text);
    return rest.replaceAll(this.#tenant, '<tenant>').replaceAll(MADE, (id) => this.#nameOf(id));
  }

  #nameOf(id: string): string {
    let name = this.#names.get(id);
    if (name === undefined) this.#names.set(id, (name = `<made ${this.#names.size}>`));
    return name;
  }
}

type Unit = readonly string[];

/** Of a proof, in either form: what is open, the paths of what is closed, and which groups are shown by their root. */
export function provenIn(text: string): string {
  if (!text.startsWith('{')) {
    const [format, extra, index] = text.split('\n');
    const line = JSON.parse(Buffer.from(extra!.slice('extra '.length), 'base64').toString()) as BundleLine;
    return [format, index, unitsOf(line.o, line.c, line.g)].join('\n');
  }
  const {
    open,
    closed,
    groups,
    entry: _,
    hashes: __,
    checkpoint: ___,
    treeSize: ____,
    ...place
  } = JSON.parse(text) as Proof;
  return `${JSON.stringify(place)} ${unitsOf(open, closed, groups)}`;
}

interface Proof extends Readonly<Record<string, unknown>> {
  readonly open: readonly Unit[];
  readonly closed: readonly Unit[];
  readonly groups: readonly (string | null)[];
}

interface BundleLine {
  readonly o: readonly Unit[];
  readonly c?: readonly Unit[];
  readonly g?: readonly (string | null)[];
}

/** Without salts, commitments and roots. A tag is the hash of a path, so it stays. */
function unitsOf(
  open: readonly Unit[],
  closed: readonly Unit[] = [],
  groups: readonly (string | null)[] = [],
): string {
  return JSON.stringify({
    open: open.map(([path, , value]) => [path, value]),
    closed: closed.map(([tag]) => tag),
    groups: groups.map((root) => root !== null),
  });
}
