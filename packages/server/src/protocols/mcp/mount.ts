// MCP over streamable HTTP, at `/mcp`. A request is judged as in every protocol before the SDK sees it: where it comes from,
// its rate, its credential, its size and its JSON. Nothing is kept between requests, so any node answers any of them.

import {
  asJson,
  AuditError,
  type Operation,
  operationNamed,
  outputSchema,
  REST_STATUS_OF_ERROR,
  type ErrorCode,
  type OperationName,
  type Version,
} from '@tallystick/contract';
import { leftOutPaths, mcpTools, type ToolSet } from '@tallystick/contract/mcp';
import { enter, type Gateway } from '../../gateway/pipeline.ts';
import { type ErrorPlace, shownError } from '../../gateway/shown-error.ts';
import type { Telemetry } from '../../telemetry.ts';
import { readBytes } from '../http/body-bytes.ts';
import { errorHeaders } from '../http/error-headers.ts';
import { goneOf } from '../http/gone.ts';
import type { ErrorReply, Exchange, Mount, Reply } from '../http/mount.ts';
import { ratedSender } from '../http/rated-sender.ts';
import { callFacts } from '../http/request-headers.ts';
import { standingHeaders } from '../http/standing-headers.ts';
import { versionHeaders } from '../http/version-headers.ts';
import { type BodyParts, checkMediaType } from '../input/json-body.ts';
import { messageBinding } from '../input/message-input.ts';
import type { BoundOperation, BoundTool, Conversation, McpParts } from './conversation.ts';
import { MESSAGE_LIMITS, readMessage } from './message.ts';
import { createOriginCheck, type OriginRules } from './origin.ts';
import { metadataUrl } from './protected-resource.ts';
import { loadSdk, type Sdk } from './sdk.ts';
import { REFUSED, serverOf } from './server.ts';
import { replyOf, webRequest } from './web-response.ts';

export interface McpOptions extends Omit<OriginRules, 'publicUrl'> {
  readonly gateway: Gateway;
  readonly bodies: BodyParts;
  readonly telemetry: Telemetry;
  readonly tools: ToolSet;
  readonly build: string;
  readonly isTls: boolean;
  readonly publicUrl: () => string;
  /** As the settings say it; undefined where they do not. */
  readonly setPublicUrl: string | undefined;
}

const PATH = '/mcp';
/** The interface over MCP is the newest. */
const VERSION: Version = 'v2';

export function createMcpMount(options: McpOptions): Mount {
  const { gateway, bodies, telemetry, isTls, publicUrl } = options;
  const checkOrigin = createOriginCheck({ ...options, publicUrl: options.setPublicUrl });
  const parts: McpParts = { gateway, bodies, telemetry, ...boundTools(options.tools) };
  const serve = server(options);
  const refuse = (error: AuditError, place: ErrorPlace): ErrorReply => ({
    status: REST_STATUS_OF_ERROR[error.code],
    headers: { 'Content-Type': JSON_TYPE, ...errorHeaders(error, metadataUrl(publicUrl())) },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: null,
      error: {
        code: RPC_CODES[error.code] ?? REFUSED,
        message: `${error.code}: ${error.message}`,
        data: { error: shownError(error, place, gateway.clock.now()) },
      },
    }),
    coding: undefined,
  });
  return {
    prefix: PATH,
    load: loadSdk,
    standingHeaders: standingHeaders(isTls),
    refuse,
    async handle(exchange) {
      const { request, path } = exchange;
      checkOrigin(request.headers);
      if (path !== PATH) throw new AuditError('ROUTE_NOT_FOUND', `There is no ${path.slice(0, 200)}.`);
      if (request.method !== 'POST') return METHOD_NOT_ALLOWED;
      exchange.served = { operation: undefined, route: PATH };
      exchange.addedHeaders = {
        ...exchange.addedHeaders,
        ...versionHeaders(VERSION, gateway.versionStates),
      };
      return serve(await begin(exchange, parts), parts);
    },
  };
}

const JSON_TYPE = 'application/json';

/** GET would open a stream and DELETE end a session; there is neither. */
const METHOD_NOT_ALLOWED: Reply = {
  status: 405,
  headers: { Allow: 'POST', 'Content-Type': JSON_TYPE },
  body: JSON.stringify({
    jsonrpc: '2.0',
    id: null,
    error: { code: -32_000, message: 'Method not allowed: messages are sent by POST.' },
  }),
  coding: undefined,
};

/** Errors that JSON-RPC has a code for. */
const RPC_CODES: Readonly<Partial<Record<ErrorCode, number>>> = {
  MALFORMED_JSON: -32_700,
  VALIDATION_FAILED: -32_600,
  REQUEST_TOO_LARGE: -32_600,
  UNSUPPORTED_MEDIA_TYPE: -32_600,
  INTERNAL_ERROR: -32_603,
};

type Begun = Omit<Conversation, 'gone'>;

async function begin(exchange: Exchange, parts: McpParts): Promise<Begun> {
  const { gateway, bodies } = parts;
  const { request, correlation } = exchange;
  const facts = callFacts(exchange);
  const sender = ratedSender(exchange, gateway.clock);
  const entered = await enter(
    { ...facts, correlation, sender, ratePolicy: 'Mcp', version: VERSION },
    gateway,
  );
  const owner = entered.tenant ?? entered.caller.identity;
  checkMediaType(request.headers['content-type']);
  const bytes = await readBytes({ request, sender: owner }, MESSAGE_LIMITS, bodies);
  if (bytes.length === 0) throw new AuditError('MALFORMED_JSON', 'The request has no body.');
  const message = await readMessage(bytes, owner, bodies);
  return { parts, exchange, facts, sender, entered, message };
}

type Serve = (begun: Begun, parts: McpParts) => Promise<Reply>;

/** The SDK finds the conversation of a request by the request itself. */
function server({ build, telemetry, publicUrl }: McpOptions): Serve {
  const talks = new WeakMap<Request, Conversation>();
  let handler: ReturnType<Sdk['createMcpHandler']> | undefined;
  return async (begun) => {
    const sdk = await loadSdk();
    handler ??= sdk.createMcpHandler(
      ({ requestInfo }) => {
        const talk = requestInfo === undefined ? undefined : talks.get(requestInfo);
        if (talk === undefined) throw new Error('the SDK asks for a request that it was not given');
        return serverOf(sdk, talk, build);
      },
      {
        legacy: 'stateless',
        maxSubscriptions: 0,
        onerror: (error) => telemetry.debug('a message over MCP was refused', { reason: error.message }),
      },
    );
    const { fetch: serve } = handler;
    const { exchange, message } = begun;
    const gone = goneOf(exchange.request);
    const request = webRequest(exchange, `${publicUrl()}${PATH}`, gone.signal);
    talks.set(request, { ...begun, gone: gone.signal });
    return replyOf(await serve(request, { parsedBody: message.shown }), () => gone[Symbol.dispose]());
  };
}

function boundTools(set: ToolSet): Pick<McpParts, 'tools' | 'boundOf'> {
  const known = new Map<OperationName, BoundOperation>();
  const bind = (operation: Operation<OperationName>): BoundOperation => {
    const output = outputSchema(operation);
    const leftOut = output === undefined ? [] : leftOutPaths(asJson(output));
    const bound = { binding: messageBinding(operation), leftOut };
    known.set(operation.name, bound);
    return bound;
  };
  const tools = mcpTools().map((offered): BoundTool => {
    const { operation } = offered;
    return { ...offered, bound: operation && bind(operation) };
  });
  return {
    tools: new Map(
      tools.flatMap((each) =>
        set === 'All' || each.set === 'Reading' ? [[each.tool.name, each] as const] : [],
      ),
    ),
    // One that is not known is asked by a tool of our own, and offered as none.
    boundOf: (name) => known.get(name) ?? bind(operationNamed(name)),
  };
}
