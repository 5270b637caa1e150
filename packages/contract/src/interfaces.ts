// The interfaces of the protocols as files, below interfaces/: what programs are made from, so each is committed and
// frozen. The test beside this file holds each file against its text here, and refuses a change that breaks clients.

import { sdlOf } from './graphql/sdl.ts';
import { toolsText } from './mcp/tools-text.ts';
import { protoBreaks, servicesProto, typesProto } from './grpc/proto-text.ts';
import { soapBreaks } from './soap/breaks.ts';
import { soapWsdl } from './soap/wsdl.ts';
import { soapXsd } from './soap/xsd.ts';

export interface CommittedInterface {
  readonly text: () => string;
  /** What clients of the committed text would trip over. Absent: only a test can say, by the parser of its format. */
  readonly breaks?: (committed: string, text: string) => string[];
}

/** Each file below packages/contract/interfaces. */
export const INTERFACES: Readonly<Record<string, CommittedInterface>> = {
  'graphql/v1.graphql': { text: () => sdlOf('v1') },
  'graphql/v2.graphql': { text: () => sdlOf('v2') },
  'mcp/tools.json': { text: toolsText },
  'proto/tallystick/v1/types.proto': { text: () => typesProto('v1'), breaks: protoBreaks },
  'proto/tallystick/v1/services.proto': { text: () => servicesProto('v1'), breaks: protoBreaks },
  'proto/tallystick/v2/types.proto': { text: () => typesProto('v2'), breaks: protoBreaks },
  'proto/tallystick/v2/services.proto': { text: () => servicesProto('v2'), breaks: protoBreaks },
  'soap/v1/tallystick.xsd': { text: soapXsd, breaks: soapBreaks },
  'soap/v1/tallystick.wsdl': { text: () => soapWsdl(), breaks: soapBreaks },
};
