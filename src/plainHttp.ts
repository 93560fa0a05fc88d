/** Plain HTTP is for loopback, and for addresses in front of which something else ends TLS. */
import { Effect, Option } from "effect"
import type { GatewaySettings } from "./Settings.ts"
import { isLoopback } from "./settings/fields.ts"
import { fail } from "./wire/OperatorError.ts"

/** Fails where callers on other machines would send keys and prompts unencrypted, and the operator has not allowed it. */
export const refusePlainHttp = ({ host, plainHttp, tlsCert, tlsKey }: GatewaySettings) =>
  plainHttp || isLoopback(host) || Option.isSome(tlsCert) || Option.isSome(tlsKey)
    ? Effect.void
    : fail(
        `plain HTTP on ${host}, which is not a loopback address: set GATEWAY_TLS_CERT and GATEWAY_TLS_KEY, or GATEWAY_PLAIN_HTTP=true where a proxy in front of the gateway ends TLS`
      )
