/** The file that says whose tokens and certificates are trusted, and what they may use (docs/identity.md#identity-file). It holds no secret. */
import { createHash } from "node:crypto"
import { Effect, Schema } from "effect"
import { beside, entryOf, parser, readNamed, readOwnedBeside } from "../limits/files.ts"
import { allUnique, Name, permissionFields, ShortName } from "../limits/KeyFile.ts"
import { isLoopback, timeBetween } from "../settings/fields.ts"
import { inSlices, type Slices } from "../wire/slices.ts"

/** Signature algorithms of tokens: those of FIPS 186-5 with keys of two parts. */
export const algorithms = ["ES256", "ES384", "RS256", "PS256"] as const

/** A value, or the start of values and `*`. Compared exactly, case included. */
const Pattern = Schema.String.check(
  Schema.isPattern(/^[^*]*\*?$/, { message: "expected a value, or the start of values and *" }),
  Schema.isNonEmpty()
)
/** One of them is enough. */
const Patterns = Schema.Union([Pattern, Schema.Array(Pattern).check(Schema.isMinLength(1))])
export type Patterns = typeof Patterns.Type

/** An https address, plain http on loopback, or a file beside the identity file. */
const Jwks = Schema.NonEmptyString.check(
  Schema.makeFilter((source) => {
    if (!isUrl(source)) return undefined
    const { hostname, password, protocol, username } = new URL(source)
    if (username !== "" || password !== "") return "must have no credentials"
    return protocol === "https:" || isLoopback(hostname) || "must be https, or a file"
  })
)
export const isUrl = (source: string): boolean => /^https?:/i.test(source) && URL.canParse(source)

export const Issuer = Schema.Struct({
  /** The `iss` of its tokens, to the letter. */
  issuer: Schema.NonEmptyString,
  /** The `aud` of its tokens: one of them is enough. */
  audience: Schema.Union([Schema.NonEmptyString, Schema.Array(Schema.NonEmptyString).check(Schema.isMinLength(1))]),
  jwks: Jwks,
  algorithms: Schema.optional(Schema.Array(Schema.Literals(algorithms)).check(Schema.isMinLength(1))),
  /** How far its clock may be from this machine's; a minute unless set. The most is enough for every clock. */
  clockSkew: Schema.optional(timeBetween(0, "5 minutes")),
  /** The longest time between `iat` and `exp`; an hour unless set. What an issuer grants for more than a day is a static key. */
  maxLifetime: Schema.optional(timeBetween(1, "1 day"))
})
export type Issuer = typeof Issuer.Type

export const Authority = Schema.Struct({
  name: ShortName,
  /** A PEM file. Each certificate in it is trusted to issue certificates of callers. */
  certificates: Schema.NonEmptyString,
  /** Files with the revocation lists of these authorities, PEM or DER. */
  crl: Schema.optional(Schema.Union([Schema.NonEmptyString, Schema.Array(Schema.NonEmptyString)]))
})

/** What a rule gives. */
const grant = {
  /** For records and pages; the token's `sub` or the certificate's common name unless set. */
  name: Schema.optional(Name),
  ...permissionFields
}

/** A rule for everybody says so: `{"sub": "*"}`. */
const notEmpty = Schema.makeFilter(
  (conditions: object) => Object.keys(conditions).length > 0 || "must name at least one condition"
)

export const TokenRule = Schema.Struct({
  issuer: Schema.NonEmptyString,
  /** Claims by name, or by path as `realm_access/roles`. All must hold. */
  claims: Schema.Record(Schema.NonEmptyString, Patterns).check(notEmpty),
  ...grant
})

const CertificateRule = Schema.Struct({
  authority: ShortName,
  /** All must hold. */
  certificate: Schema.Struct({
    /** As `CN=host.example,O=Agency`, in the certificate's order. */
    subject: Schema.optional(Patterns),
    issuer: Schema.optional(Patterns),
    serial: Schema.optional(Patterns),
    upn: Schema.optional(Patterns),
    uri: Schema.optional(Patterns),
    dns: Schema.optional(Patterns),
    email: Schema.optional(Patterns)
  }).check(notEmpty),
  ...grant
})
const Rule = Schema.Union([TokenRule, CertificateRule])
export type Rule = typeof Rule.Type

const IdentityFile = Schema.Struct({
  version: Schema.Literal(1),
  issuers: Schema.optional(
    Schema.Array(Issuer).check(allUnique(({ issuer }) => issuer, "two issuers have the same name"))
  ),
  authorities: Schema.optional(
    Schema.Array(Authority).check(allUnique(({ name }) => name, "two authorities have the same name"))
  ),
  /** In order: the first that matches decides. */
  rules: Schema.Array(entryOf(Rule)).check(Schema.isMinLength(1))
}).check(
  Schema.makeFilter(({ authorities = [], issuers = [], rules }) => {
    for (const rule of rules) {
      if ("issuer" in rule) {
        if (issuers.some(({ issuer }) => issuer === rule.issuer)) continue
        return `a rule is about the issuer ${rule.issuer}, which issuers does not name`
      }
      if (authorities.some(({ name }) => name === rule.authority)) continue
      return `a rule is about the authority ${rule.authority}, which authorities does not name`
    }
    return true
  })
)
type IdentityFile = typeof IdentityFile.Type

export const crlsOf = ({ crl = [] }: typeof Authority.Type): ReadonlyArray<string> => [crl].flat()

/** The files that an identity file names. */
const namesIn = ({ authorities = [], issuers = [] }: IdentityFile): ReadonlyArray<string> => [
  ...issuers.flatMap(({ jwks }) => (isUrl(jwks) ? [] : [jwks])),
  ...authorities.flatMap((authority) => [authority.certificates, ...crlsOf(authority)])
]

const setting = "GATEWAY_IDENTITY_FILE"

/** What an identity file says, without the files that it names. */
export const parseIdentity = parser(IdentityFile, setting, "an identity file")

const sliceBytes = 1024 * 1024

function* digestOf(bytes: Uint8Array): Slices<string> {
  const digest = createHash("sha256")
  for (let at = 0; at < bytes.length; at += sliceBytes) {
    digest.update(bytes.subarray(at, at + sliceBytes))
    yield
  }
  return digest.digest("hex")
}

/**
 * Reads an identity file, and what the files that it names hold, by those names; they are found from its own folder. `digests` are of
 * all, by their paths.
 */
export const readIdentity = Effect.fnUntraced(function* (path: string) {
  const text = yield* readNamed(path, setting)
  const file = yield* parseIdentity(path, text)
  const contents = new Map<string, Buffer>()
  const digests = new Map([[path, yield* inSlices(digestOf(Buffer.from(text)))]])
  for (const name of namesIn(file)) {
    const bytes = yield* readOwnedBeside(path, name, (why) => `${path} names ${name}, which cannot be read: ${why}`)
    contents.set(name, bytes)
    digests.set(beside(path, name), yield* inSlices(digestOf(bytes)))
  }
  return { file, contents, digests }
})
export type ReadIdentity = Effect.Success<ReturnType<typeof readIdentity>>
