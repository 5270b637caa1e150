// The interface over gRPC, made from the operations. A package path of its own: only who speaks it loads it.

export { grpcName, grpcPackage, grpcPath } from './names/grpc.ts';
export type { GrpcName } from './names/grpc.ts';
