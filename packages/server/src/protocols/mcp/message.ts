// A JSON-RPC message as bytes and an outline. Values are made of the few members that the SDK looks at, each of a bounded
// size; the arguments of a tool stay text until the operation that they are for takes them. A message of nothing but new keys
// would otherwise keep the thread busy for seconds.

import { AuditError, type ErrorDetail, LIMITS } from '@tallystick/contract';
import { JsonOutline, parseJson } from '@tallystick/evidence';
import type { BodyLimits, BodyParts } from '../input/json-body.ts';
import { parseBody, type ParsedBody } from '../input/parse-body.ts';
import type { TextMembers } from '../input/text-members.ts';

const TEXTS = ['context', 'payload'];

/** The members of the message, of its parameters, and of the arguments among these. */
const OUTLINE: TextMembers = {
  list: undefined,
  names: TEXTS,
  keys: TEXTS.map((name) => Buffer.from(name)),
  levels: 3,
  inBody: {},
  inObject: {},
};

/** What stands around the input of an operation comes on top of its own levels. */
export const MESSAGE_LIMITS: BodyLimits = {
  bytesMax: LIMITS.requestBytesMax,
  timeoutMs: LIMITS.requestTimeoutMs,
  depthMax: LIMITS.nestingDepthMax + 8,
  violationsMax: LIMITS.errorDetailsMax,
  texts: OUTLINE,
  schema: {},
};

/** A larger one is parsed in the body thread. */
const LARGE_BYTES = 128 * 1024;

const META = {
  version: 'io.modelcontextprotocol/protocolVersion',
  info: 'io.modelcontextprotocol/clientInfo',
  capabilities: 'io.modelcontextprotocol/clientCapabilities',
} as const;

/** Nothing of a client's abilities is used: no model is asked, and nothing is sent that was not asked for. */
const NO_CAPABILITIES = {};

export interface Message {
  /** As the SDK gets it. */
  readonly shown: Readonly<Record<string, unknown>>;
  readonly args: Arguments;
}

export async function readMessage(
  bytes: Uint8Array,
  sender: string,
  { budget, parseElsewhere }: Pick<BodyParts, 'budget' | 'parseElsewhere'>,
): Promise<Message> {
  const { depthMax, violationsMax, texts, schema } = MESSAGE_LIMITS;
  const rules = { depthMax, violationsMax, texts, schema };
  if (bytes.length <= LARGE_BYTES) return messageOf(parseBody(bytes, rules, false));
  const held = bytes.length;
  const refusal = budget.take(sender, held);
  if (refusal !== undefined) throw refusal;
  try {
    return messageOf(await parseElsewhere(sender, { bytes, rules, isKeyed: false }));
  } finally {
    budget.giveBack(sender, held);
  }
}

function messageOf(parsed: ParsedBody): Message {
  if ('value' in parsed) throw new Error('a message is outlined');
  const outline = new JsonOutline(parsed.text, parsed.nodes);
  const { root } = outline;
  if (!outline.isObject(root)) throw wrong('The body must be one JSON-RPC message.');
  const method = small(outline, root, 'method');
  const isCall = method === 'tools/call';
  const elsewhere = parsed.violations.filter(({ field }) => !isCall || !field.startsWith(IN_ARGUMENTS));
  if (elsewhere.length > 0) throw wrong('The message breaks rules of JSON.', elsewhere);
  const params = memberIn(outline, root, 'params');
  const shown = Object.fromEntries(
    ['jsonrpc', 'id'].flatMap((name) => {
      const value = small(outline, root, name);
      return value === undefined ? [] : [[name, value]];
    }),
  );
  return {
    shown: {
      ...shown,
      ...(method !== undefined && { method }),
      ...(params !== undefined && { params: shownParams(outline, params, isCall) }),
    },
    args: new Arguments(
      outline,
      params === undefined ? undefined : memberIn(outline, params, 'arguments'),
      parsed.violations,
    ),
  };
}

/** Those that methods of the server have; arguments of prompts are texts. */
const SMALL = ['name', 'uri', 'cursor', 'protocolVersion', 'clientInfo'];

function shownParams(outline: JsonOutline, params: number, isCall: boolean): unknown {
  if (!outline.isObject(params)) return small(outline, params);
  const shown: Record<string, unknown> = {};
  for (const name of SMALL) {
    const value = small(outline, params, name);
    if (value !== undefined) shown[name] = value;
  }
  if (memberIn(outline, params, 'capabilities') !== undefined) shown['capabilities'] = NO_CAPABILITIES;
  const args = memberIn(outline, params, 'arguments');
  if (args !== undefined) shown['arguments'] = isCall ? emptyLike(outline, args) : small(outline, args);
  const meta = memberIn(outline, params, '_meta');
  if (meta !== undefined) shown['_meta'] = shownMeta(outline, meta);
  return shown;
}

function shownMeta(outline: JsonOutline, meta: number): unknown {
  if (!outline.isObject(meta)) return small(outline, meta);
  const shown: Record<string, unknown> = {};
  for (const name of [META.version, META.info]) {
    const value = small(outline, meta, name);
    if (value !== undefined) shown[name] = value;
  }
  const capabilities = memberIn(outline, meta, META.capabilities);
  if (capabilities !== undefined) shown[META.capabilities] = emptyLike(outline, capabilities);
  return shown;
}

/** What the SDK refuses as no object stays none. */
const emptyLike = (outline: JsonOutline, node: number): unknown =>
  outline.isObject(node) ? {} : small(outline, node);

function memberIn(outline: JsonOutline, parent: number, name: string): number | undefined {
  return outline.isObject(parent) ? outline.member(parent, Buffer.from(name)) : undefined;
}

/** The value of a member, or of the node itself; undefined where there is none. */
function small(outline: JsonOutline, parent: number, name?: string): unknown {
  const node = name === undefined ? parent : memberIn(outline, parent, name);
  if (node === undefined) return undefined;
  const bytes = outline.value(node);
  if (bytes.length > LIMITS.mcpMemberBytesMax) {
    const what = name ?? 'a member of the message';
    throw wrong(`${what} is ${bytes.length} bytes as JSON; the limit is ${LIMITS.mcpMemberBytesMax}.`);
  }
  return valueOf(bytes);
}

const valueOf = (bytes: Uint8Array): unknown => parseJson(Buffer.from(bytes).toString());

const IN_ARGUMENTS = 'params.arguments.';

/** The input of an operation, in parts. */
export interface Parts {
  readonly members: Readonly<Record<string, unknown>>;
  /** The JSON text of the member that REST sends as a body. */
  readonly body: Uint8Array | undefined;
  /** Rules of JSON that it breaks, at their places in the input. */
  readonly violations: readonly ErrorDetail[];
}

export class Arguments {
  readonly #outline: JsonOutline;
  readonly #node: number | undefined;
  readonly #violations: readonly ErrorDetail[];

  constructor(outline: JsonOutline, node: number | undefined, violations: readonly ErrorDetail[]) {
    this.#outline = outline;
    this.#node = node;
    this.#violations = violations;
  }

  parts(bodyMember?: string): Parts {
    const [outline, node] = [this.#outline, this.#node];
    const violations = this.#violations.map((detail) => ({
      ...detail,
      field: placeIn(detail.field, bodyMember),
    }));
    if (node === undefined || !outline.isObject(node)) return { members: {}, body: undefined, violations };
    const body = bodyMember === undefined ? undefined : memberIn(outline, node, bodyMember);
    const texts: string[] = [];
    let length = 0;
    for (let each = outline.first(node); each < outline.end(node); each = outline.next(each)) {
      if (each === body) continue;
      length += outline.to(each) - outline.keyFrom(each);
      if (length > LIMITS.mcpArgumentsBytesMax) throw tooLarge(bodyMember);
      texts.push(Buffer.from(outline.bytes.subarray(outline.keyFrom(each) - 1, outline.to(each))).toString());
    }
    return {
      // The text of an object, without one of its members.
      members: parseJson(`{${texts.join(',')}}`) as Parts['members'],
      // Copied: it may be handed over to another thread.
      body: body === undefined ? undefined : Buffer.from(outline.value(body)),
      violations,
    };
  }
}

/** Without what stands around the input; a body has no name of its own. */
function placeIn(field: string, bodyMember: string | undefined): string {
  const prefixes = [...(bodyMember === undefined ? [] : [`${IN_ARGUMENTS}${bodyMember}.`]), IN_ARGUMENTS];
  return field.slice(prefixes.find((each) => field.startsWith(each))?.length ?? 0);
}

function tooLarge(bodyMember: string | undefined): AuditError {
  const what = bodyMember === undefined ? 'arguments' : `arguments without ${bodyMember}`;
  return new AuditError(
    'REQUEST_TOO_LARGE',
    `The ${what} are over the limit of ${LIMITS.mcpArgumentsBytesMax} bytes as JSON.`,
  );
}

function wrong(message: string, details: readonly ErrorDetail[] = []): AuditError {
  return new AuditError('VALIDATION_FAILED', message, { details: [...details] });
}
