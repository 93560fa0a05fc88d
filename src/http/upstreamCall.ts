/** What a request asks of its cloud. What the call learns goes to the request's record. */
import type { Route } from "../catalog/Route.ts"
import type { Body, UpstreamCall } from "../cloud/Provider.ts"
import type { Prepared } from "../surfaces/Surface.ts"
import type { RequestRecord } from "./RequestRecord.ts"

export interface Asking {
  readonly prepared: Prepared
  readonly route: Route
  readonly record: RequestRecord
}

export const upstreamCall = ({ prepared, route, record }: Asking, body: () => Body, until?: number): UpstreamCall => ({
  route,
  operation: prepared.operation,
  body,
  size: record.bytesIn,
  keyId: record.keyId,
  parent: record.span,
  attempts: record.attempts,
  until,
  takeMemory: (bytes) => record.take(bytes),
  received: (bytes) => {
    record.received += bytes
  }
})
