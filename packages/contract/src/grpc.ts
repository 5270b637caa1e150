// The interface over gRPC, made from the operations. A package path of its own: only who speaks it loads it.

export { NULL_MEMBERS, Plans, snakeCase } from './grpc/plan.ts';
export type { EnumPlan, FieldPlan, FieldType, MessageForm, MessagePlan, ScalarType } from './grpc/plan.ts';
export { enumValueName, servicesFile, typesFile, typeText } from './grpc/proto-text.ts';
export { ETAG, grpcInterface, TAIL } from './grpc/services.ts';
export type { GrpcInterface, MethodPlan } from './grpc/services.ts';
export { grpcName, grpcPackage, grpcPath } from './names/grpc.ts';
export type { GrpcName } from './names/grpc.ts';
