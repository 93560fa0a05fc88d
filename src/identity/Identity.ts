/** Who calls without a key: by a token of a trusted issuer, or by a client certificate (docs/identity.md). */
import type { X509Certificate } from "node:crypto"
import { Context, type Effect } from "effect"
import type { GatewayError } from "../catalog/GatewayError.ts"
import type { CallerIdentity } from "../contract/Security.ts"

/** There only where the operator names an identity file. */
export class Identity extends Context.Service<
  Identity,
  {
    /** The caller that a token names. Fails: `unauthenticated`, `forbidden` where no rule is for it, `overloaded` while its issuer is down. */
    readonly ofToken: (token: string) => Effect.Effect<CallerIdentity, GatewayError>
    /** The caller that a client certificate names; that its holder has the key has been proven by TLS, here or at the proxy. */
    readonly ofCertificate: (certificate: X509Certificate) => Effect.Effect<CallerIdentity, GatewayError>
    /**
     * `end` is called when what gave this caller its access no longer does: a rule that is gone, a certificate that was revoked; never for
     * callers with keys. Returns how to unsubscribe.
     */
    readonly onEnd: (caller: CallerIdentity, end: () => void) => () => void
  }
>()("gateway/identity/Identity") {}

const shape = /^[\w-]+\.[\w-]+\.[\w-]+$/

/** Whether a text has the form of a signed token. */
export const isToken = (text: string): boolean => shape.test(text)
