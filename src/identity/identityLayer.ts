/** Judges tokens and certificates by the identity file, which is read again when it or a file that it names changes. */
import type { X509Certificate } from "node:crypto"
import { Clock, type Duration, Effect, Layer, Metric, RcMap, Result, ScopedRef } from "effect"
import { GatewayError, type Refusal } from "../catalog/GatewayError.ts"
import type { CallerIdentity } from "../contract/Security.ts"
import { Keys, makeAccess } from "../limits/Keys.ts"
import { watchFile } from "../watchFile.ts"
import { OperatorError } from "../wire/OperatorError.ts"
import { inSlices } from "../wire/slices.ts"
import {
  type Authority,
  authoritiesOf,
  endsIn,
  fieldsOf,
  isInTime,
  listsEnd,
  parseAuthorities,
  unrevoked
} from "./certificate.ts"
import { parseRevocationLists } from "./crl.ts"
import { Identity } from "./Identity.ts"
import { crlsOf, isUrl, type ReadIdentity, type Rule, readIdentity } from "./IdentityFile.ts"
import { callerId, granted, ruleForCertificate, ruleForToken } from "./rules.ts"
import { type IssuerKeys, issuerOf, keysAt, parseKeys, refusedToken, verifyToken } from "./token.ts"

const listDays = Metric.gauge("gateway_revocation_list_expiry_days", {
  description: "Days until the first authority is without a revocation list in force, and what it has issued is refused"
})

const refused = (id: string, reason: "forbidden" | "unauthenticated", why: Refusal, message: string, detail?: string) =>
  Result.fail(new GatewayError({ reason, message, refused: { why, id }, detail }))

const broken = (name: string) => (why: string) =>
  new OperatorError({ message: `the identity file names ${name}, which cannot be used: ${why}` })

const contentOf = ({ contents }: ReadIdentity, name: string): Buffer => contents.get(name) ?? Buffer.alloc(0)

/** What a file holds that the identity file names. */
const usable = <A>(name: string, parsed: Result.Result<A, string>) =>
  Effect.mapError(Effect.fromResult(parsed), broken(name))

const authorityOf = Effect.fnUntraced(function* (read: ReadIdentity, authority: Parameters<typeof crlsOf>[0]) {
  const { certificates, name } = authority
  const parsed = Effect.forEach(crlsOf(authority), (name) =>
    Effect.flatMap(inSlices(parseRevocationLists(contentOf(read, name))), (lists) => usable(name, lists))
  )
  const lists = (yield* parsed).flat()
  const issuers = yield* usable(certificates, parseAuthorities(contentOf(read, certificates)))
  const signed = issuers.map((certificate) => ({
    certificate,
    lists: lists.filter(({ isSignedBy }) => isSignedBy(certificate.publicKey))
  }))
  if (signed.reduce((sum, issuer) => sum + issuer.lists.length, 0) < lists.length) {
    return yield* broken(crlsOf(authority).join(", "))("a list is signed by none of the authority's certificates")
  }
  return { name, issuers: unrevoked(signed), needsList: lists.length > 0 } satisfies Authority
})

/** What a file comes to with those that it names; fails where one cannot be used. `keysOf`: the keys at an address. */
export const trustOf = Effect.fnUntraced(function* <R>(
  read: ReadIdentity,
  keysOf: (url: string) => Effect.Effect<IssuerKeys, never, R>
) {
  const { issuers = [], rules } = read.file
  const authorities = yield* Effect.forEach(read.file.authorities ?? [], (authority) => authorityOf(read, authority))
  const known = yield* Effect.forEach(issuers, (issuer) => {
    const { jwks } = issuer
    const keys = isUrl(jwks) ? keysOf(jwks) : usable(jwks, parseKeys(contentOf(read, jwks)))
    return Effect.map(keys, (keys) => [issuer.issuer, { issuer, keys }] as const)
  })
  return { issuers: new Map(known), authorities, rules }
})

interface IdentityOptions {
  /** `GATEWAY_IDENTITY_FILE` */
  readonly file: string
  /** Time between two looks at the file and those that it names; default 5 seconds. */
  readonly poll?: Duration.Input | undefined
}

/** What a rule gives a caller, by the teams and the refusals of the key file. `subject`: what it stands for, in words. */
const makeGrant = (book: Keys["Service"]) => (rule: Rule | undefined, id: string, name: string, subject: string) => {
  const withdrawn = book.refusalOf(id)
  if (withdrawn !== undefined) {
    const message = "The operator has withdrawn the access of this caller. Ask the operator for it."
    return refused(id, "unauthenticated", withdrawn, message)
  }
  if (rule === undefined) {
    return refused(id, "forbidden", "no-rule", `No rule of this gateway is for ${subject}. Ask the operator for one.`)
  }
  const team = book.inForce().teams.find((candidate) => candidate.name === rule.team)
  if (rule.team === undefined || team !== undefined) return Result.succeed(granted(rule, id, name, team))
  return refused(
    id,
    "forbidden",
    "no-team",
    "The rule that holds for this caller names a team that does not exist. Ask the operator to create it.",
    `a rule of the identity file names the team ${rule.team}, which the key file does not: npm run gateway -- teams create ${rule.team}`
  )
}

const showListDays = (authorities: ReadonlyArray<Authority>, now: number) => {
  // A certificate that has ended may stay beside the renewed one: its list is no longer needed.
  const ends = authorities.flatMap(({ issuers }) =>
    issuers.flatMap((issuer) => (isInTime(issuer.certificate, now) && listsEnd(issuer)) || [])
  )
  const left = (Math.min(...ends) - now) / 86_400_000
  return ends.length === 0 ? Metric.remove(listDays) : Metric.update(listDays, left)
}

/** The file's rules, read again when it or a file that it names changes. A broken file fails the layer at the start; later it is refused whole. */
export const identityLayer = ({ file, poll = "5 seconds" }: IdentityOptions) =>
  Layer.effect(
    Identity,
    Effect.gen(function* () {
      const book = yield* Keys
      const clock = yield* Clock.Clock
      // Keys of addresses that the next file names, too, go on.
      const addresses = yield* RcMap.make({ lookup: keysAt })
      const build = (read: ReadIdentity) => trustOf(read, (url) => RcMap.get(addresses, url))
      const first = yield* readIdentity(file)
      const inForce = yield* ScopedRef.fromAcquire(build(first))
      const trust = () => ScopedRef.getUnsafe(inForce)
      const checks = new WeakMap<CallerIdentity, () => boolean>()
      const access = makeAccess()

      const grant = makeGrant(book)
      const admitted = (given: () => Result.Result<CallerIdentity, GatewayError>) =>
        Effect.map(Effect.fromResult(given()), (caller) => {
          checks.set(caller, () => Result.isSuccess(given()))
          return caller
        })

      const ofToken = Effect.fnUntraced(function* (token: string) {
        const name = yield* Effect.fromResult(issuerOf(token))
        const known = trust().issuers.get(name)
        if (known === undefined) return yield* refusedToken("is of an issuer (iss) that is not trusted here", "issuer")
        const claims = yield* verifyToken(token, known.issuer, known.keys)
        const { sub } = claims
        return yield* admitted(() =>
          grant(ruleForToken(trust().rules, name, claims), callerId("jwt", name, sub), sub, "the subject of this token")
        )
      })

      const ofCertificate = (certificate: X509Certificate) => {
        const fields = fieldsOf(certificate)
        const id = callerId("crt", fields.issuer, fields.holder)
        return admitted(() => {
          const issued = authoritiesOf(certificate, trust().authorities, clock.currentTimeMillisUnsafe())
          if (Result.isFailure(issued)) {
            const { message, why } = issued.failure
            const advice = "Send a key in the header x-api-key, or a certificate that is trusted here."
            return refused(id, "unauthenticated", why, `No key was sent, and ${message}. ${advice}`)
          }
          return grant(
            ruleForCertificate(trust().rules, issued.success, fields),
            id,
            fields.name,
            "this client certificate"
          )
        })
      }

      const onEnd = (caller: CallerIdentity, end: () => void) => {
        const holds = checks.get(caller)
        if (holds?.()) return access.onEnd(holds, end)
        // The file has changed while the request waited.
        if (holds !== undefined) end()
        return () => {}
      }

      yield* watchFile({
        kind: "identity",
        path: file,
        version: ({ digests }) => [...digests.values()].join(),
        digests: ({ digests }) => digests,
        ends: (read) => ({
          identity: (read.file.authorities ?? []).map(({ certificates }) =>
            endsIn(contentOf(read, certificates).toString("latin1"))
          )
        }),
        read: readIdentity(file),
        initial: first,
        every: poll,
        take: Effect.fnUntraced(function* (read) {
          yield* ScopedRef.set(inForce, build(read))
          yield* access.check
          yield* Effect.logInfo(`identity file read from ${file}`)
        }),
        complaint: (message) => `${message}. The issuers, authorities and rules in force stay.`,
        looked: () => showListDays(trust().authorities, clock.currentTimeMillisUnsafe())
      })
      return Identity.of({ ofToken, ofCertificate, onEnd })
    })
  )
