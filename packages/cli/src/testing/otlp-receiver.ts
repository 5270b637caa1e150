// A receiver of OTLP over HTTP as JSON, for tests: what the service exports, as it comes in.

import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export type Facts = Readonly<Record<string, unknown>>;

export interface ReceivedSpan {
  readonly name: string;
  /** 1 internal, 2 server, 3 client, 5 consumer. */
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly facts: Facts;
  readonly links: readonly string[];
  readonly isFailed: boolean;
}

export interface OtlpReceiver extends AsyncDisposable {
  readonly url: string;
  /** All that came in, as it was sent. */
  readonly bodies: string[];
  /** Of those that came in last. */
  resource: Facts;
  readonly spans: ReceivedSpan[];
  /** The newest values, by name and labels as Prometheus writes them; of a histogram its count. */
  readonly metrics: Map<string, number>;
}

interface OtlpMetrics {
  readonly resourceMetrics?: readonly {
    readonly scopeMetrics: readonly { readonly metrics: readonly OtlpMetric[] }[];
  }[];
}

interface OtlpMetric {
  readonly name: string;
  readonly sum?: OtlpPoints;
  readonly gauge?: OtlpPoints;
  readonly histogram?: OtlpPoints;
}

interface OtlpPoints {
  readonly dataPoints: readonly {
    readonly attributes: readonly Attribute[];
    readonly asDouble?: number;
    readonly count?: number;
  }[];
}

interface Attribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

interface OtlpSpan {
  readonly name: string;
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly attributes: readonly Attribute[];
  readonly links?: readonly { readonly spanId: string }[];
  readonly status?: { readonly code?: number };
}

interface OtlpTraces {
  readonly resourceSpans?: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[];
  }[];
}

const STATUS_ERROR = 2;

export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const receiver = {
    bodies: [] as string[],
    resource: {} as Facts,
    spans: [] as ReceivedSpan[],
    metrics: new Map<string, number>(),
  };
  const take = async (request: IncomingMessage) => {
    const body = await text(request);
    receiver.bodies.push(body);
    if (request.url === '/v1/metrics') takeMetrics(JSON.parse(body) as OtlpMetrics, receiver.metrics);
    if (request.url === '/v1/traces') takeSpans(JSON.parse(body) as OtlpTraces, receiver);
  };
  const server = createServer((request, response) => {
    void take(request).then(() => response.setHeader('content-type', 'application/json').end('{}'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return Object.assign(receiver, {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}

function takeSpans(
  { resourceSpans = [] }: OtlpTraces,
  receiver: { resource: Facts; readonly spans: ReceivedSpan[] },
): void {
  for (const { resource, scopeSpans } of resourceSpans) {
    receiver.resource = factsOf(resource.attributes);
    for (const { spans } of scopeSpans) receiver.spans.push(...spans.map(readSpan));
  }
}

function takeMetrics({ resourceMetrics = [] }: OtlpMetrics, taken: Map<string, number>): void {
  const metrics = resourceMetrics.flatMap(({ scopeMetrics }) =>
    scopeMetrics.flatMap((scope) => scope.metrics),
  );
  for (const { name, sum, gauge, histogram } of metrics) {
    for (const { attributes, asDouble, count } of (sum ?? gauge ?? histogram)?.dataPoints ?? []) {
      const labels = Object.entries(factsOf(attributes)).map(
        ([label, value]) => `${label}="${String(value)}"`,
      );
      const suffix = histogram === undefined ? '' : '_count';
      taken.set(`${name}${suffix}${labels.length > 0 ? `{${labels.join(',')}}` : ''}`, asDouble ?? count!);
    }
  }
}

function readSpan({ attributes, links = [], parentSpanId = '', status, ...span }: OtlpSpan): ReceivedSpan {
  return {
    ...span,
    parentSpanId,
    facts: factsOf(attributes),
    links: links.map(({ spanId }) => spanId),
    isFailed: status?.code === STATUS_ERROR,
  };
}

function factsOf(attributes: readonly Attribute[]): Facts {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}
