/** A relay of a protocol that nobody watches: no deadline, no record. */
import { makeAccumulator } from "../../src/governance/accumulate.ts"
import type { GatewayError } from "../../src/model/GatewayError.ts"
import { faultError } from "../../src/provider/fault.ts"
import type { Progress, Protocol } from "../../src/stream/Frame.ts"
import { governanceSoFar } from "../../src/stream/governed.ts"
import { Relay, type RelayOptions } from "../../src/stream/relay.ts"

const nothing = () => {}

export const relayOf = <S extends Progress>(
  protocol: Protocol<S>,
  more: Partial<Pick<RelayOptions<S>, "calls" | "onKept" | "writer">> = {}
) => {
  const state = protocol.initial()
  const calls = more.calls ?? makeAccumulator()
  const lastWords = (error: GatewayError) => [protocol.inBand(state, error, governanceSoFar(calls))].flat()
  const relay = new Relay({
    protocol,
    state,
    calls,
    every: 60_000,
    writer: more.writer ?? { drained: () => undefined, write: () => false },
    onFirst: nothing,
    onKept: more.onKept ?? (() => undefined),
    onEnd: nothing,
    errorOf: (fault) => faultError(fault, (message) => message),
    lastWords
  })
  return { relay, state, calls, lastWords }
}
