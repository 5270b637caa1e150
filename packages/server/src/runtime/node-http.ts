// HTTP as Node has it. An import of it looks at all that it exports, also at the WebSocket that brings in Node's other HTTP client:
// 50 ms of processor time, for nothing. So only types are imported from it elsewhere.

import type * as http from 'node:http';
import { getBuiltinModule } from 'node:process';

export type ClientRequest = http.ClientRequest;
export const { Agent, ClientRequest, createServer, STATUS_CODES, validateHeaderValue } =
  getBuiltinModule('node:http');
