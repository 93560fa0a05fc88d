/** Whether this process computes with a FIPS provider (docs/fips.md). */
import { createHash, getFips } from "node:crypto"
import { Effect } from "effect"
import type { GatewaySettings } from "./Settings.ts"
import { fail, type OperatorError } from "./wire/OperatorError.ts"

/** A provider that computes MD5 is none of FIPS, whatever the configuration says. */
const refusesMd5 = (): boolean => {
  try {
    createHash("md5")
    return false
  } catch {
    return true
  }
}

export const cryptoFacts = () => ({
  /** The version of the OpenSSL that Node brings; that of the FIPS module is its own. */
  openssl: process.versions.openssl,
  fips: getFips() === 1 && refusesMd5()
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
