// What is used of packages that are installed only where the peers are measured (package.json here). Everything else of the
// repository is checked without them.

declare module 'express' {
  import type { IncomingMessage, Server } from 'node:http';

  interface Request extends IncomingMessage {
    readonly body: unknown;
    get(header: string): string | undefined;
  }
  interface Response {
    status(code: number): Response;
    json(body: unknown): Response;
  }
  type Handler = (request: Request, response: Response, next: (error: unknown) => void) => void;
  interface Express {
    use(middleware: unknown): void;
    post(path: string, handler: Handler): void;
    listen(port: number, host: string, ready: () => void): Server;
  }
  function express(): Express;
  namespace express {
    function json(options: { limit: string }): unknown;
  }
  export default express;
}

declare module '@event-driven-io/emmett-postgresql' {
  import type { Pool } from 'pg';

  interface EventStore {
    appendToStream(
      streamName: string,
      events: readonly { readonly type: string; readonly data: object; readonly metadata: object }[],
    ): Promise<{ readonly nextExpectedStreamVersion: bigint }>;
    readonly schema: { migrate(): Promise<unknown> };
  }
  export function getPostgreSQLEventStore(
    connectionString: string,
    options: { readonly connectionOptions: { readonly pool: Pool } },
  ): EventStore;
}
