/** Whether this process computes with a FIPS provider (docs/fips.md). */
import { createHash, getFips } from "node:crypto"
import { Effect, Result } from "effect"
import type { GatewaySettings } from "./Settings.ts"
import { fail, type OperatorError } from "./wire/OperatorError.ts"

export const cryptoFacts = () => ({
  /** The version of the OpenSSL that Node brings; that of the FIPS module is its own. */
  openssl: process.versions.openssl,
  /** A provider that computes MD5 is none of FIPS, whatever the configuration says. */
  fips: getFips() === 1 && Result.isFailure(Result.try(() => createHash("md5")))
})

export const describeCrypto = ({ openssl, fips }: ReturnType<typeof cryptoFacts>): string =>
  `OpenSSL ${openssl} ${fips ? "with" : "without"} FIPS provider`

/** Refuses to go on where the operator requires FIPS and there is none. */
export const requireFips = ({ fips }: Pick<GatewaySettings, "fips">): Effect.Effect<void, OperatorError> =>
  fips === "off" || cryptoFacts().fips
    ? Effect.void
    : fail(
        "GATEWAY_FIPS is required, but Node runs without a FIPS provider: name OpenSSL's FIPS module in OPENSSL_CONF and start Node with NODE_OPTIONS=--force-fips, or set GATEWAY_FIPS=off (see docs/fips.md)"
      )
