// Connect and gRPC-Web over HTTP/1.1, for browsers and for curl: the services of a version on the port of REST. gRPC itself
// has its own port, since it needs HTTP/2.

import type { Version } from '@tallystick/contract';
import { grpcPackage } from '@tallystick/contract/grpc';
import { pauseForOthers } from '../../runtime/pause.ts';
import type { Mount } from '../http/mount.ts';
import { standingHeaders } from '../http/standing-headers.ts';
import { answerCall, type CallParts, shown } from './call.ts';
import { methodsOf } from './methods.ts';
import { connectError } from './reply.ts';

export function createGrpcMount(version: Version, parts: CallParts, isTls: boolean): Mount {
  return {
    prefix: `/${grpcPackage(version)}.`,
    standingHeaders: standingHeaders(isTls),
    async load() {
      await pauseForOthers();
      methodsOf(version);
    },
    handle: (exchange) => answerCall(exchange, parts),
    refuse: (error, place) => connectError(shown(error, place, parts)),
  };
}
