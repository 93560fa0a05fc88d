/** The file that names the agency's own detectors (docs/guards.md#the-file). It holds no secret. */
import { hash } from "node:crypto"
import { Effect, Result, Schema } from "effect"
import { authorizedLevels, boundaryExample, parseBoundary } from "../catalog/Level.ts"
import { type Level, levels } from "../catalog/names.ts"
import { authorizationOfHost, isVendorHost } from "../catalog/Partition.ts"
import type { ClientCertificate } from "../cloud/connections.ts"
import { checkTlsTexts } from "../identity/certificate.ts"
import { beside, parser, readNamed, readOwnedBeside } from "../limits/files.ts"
import { allUnique, ShortName } from "../limits/KeyFile.ts"
import { BaseUrl, hostOf, isLoopback, timeBetween } from "../settings/fields.ts"
import { tlsPolicy } from "../tlsPolicy.ts"
import { rephrase } from "../wire/OperatorError.ts"
import { guardedSurfaces } from "./places.ts"

/** What is built in goes by this name. */
export const markingsName = "markings"

const some = <S extends Schema.Top>(item: S) => Schema.optional(Schema.Array(item).check(Schema.isMinLength(1)))

const Boundary = Schema.String.check(
  Schema.makeFilter((text) => Result.match(parseBoundary(text), { onFailure: (why) => why, onSuccess: () => true }))
)

/** Longer than a caller waits for a first word is no guard. */
const longest = "60 seconds"

export const GuardSettings = Schema.Struct({
  /** For records, replies and metrics. */
  name: ShortName.check(
    Schema.makeFilter((name) => name !== markingsName || `${markingsName} is built in: set GATEWAY_MARKINGS`)
  ),
  /** The detector's address, without `/beta/litellm_basic_guardrail_api`. */
  url: BaseUrl,
  /** What may be sent there: the top of each ladder, and ITAR. Not needed on loopback. */
  boundary: Schema.optional(Boundary),
  /** The gateway's own certificate for TLS, with those of the authorities between, and its key: PEM files, from the file's folder. */
  certificate: Schema.optional(Schema.NonEmptyString),
  key: Schema.optional(Schema.NonEmptyString),
  /** Where it holds; everywhere unless set. */
  levels: some(Schema.Literals(levels)),
  teams: some(ShortName),
  surfaces: some(Schema.Literals(guardedSurfaces)),
  /** Whether it sees requests, replies or both. */
  when: Schema.Literals(["before", "after", "both"]),
  action: Schema.Literals(["block", "flag", "redact"]),
  /** How long it may take; two seconds unless set. */
  deadline: Schema.optional(timeBetween(1, longest)),
  /** What becomes of a request when it does not answer; refused unless set. */
  onFailure: Schema.optional(Schema.Literals(["refuse", "pass"])),
  /** How much of a stream is held back where it blocks or redacts; a sentence unless set. */
  hold: Schema.optional(Schema.Literals(["sentence", "whole"])),
  /** The detector's own parameters (`additional_provider_specific_params`). */
  params: Schema.optional(Schema.Record(Schema.String, Schema.Json))
}).check(
  Schema.makeFilter(({ boundary, name, url }) =>
    boundary !== undefined || isLoopback(hostOf(url))
      ? undefined
      : {
          path: ["boundary"],
          issue: `the guard ${name} is not on loopback: declare what may be sent there, ${boundaryExample}`
        }
  ),
  Schema.makeFilter(({ certificate, key, name, url }) => {
    if (certificate === undefined && key === undefined) return undefined
    if (certificate === undefined || key === undefined) {
      const path = [certificate === undefined ? "certificate" : "key"]
      return { path, issue: `the guard ${name} needs both certificate and key, or neither` }
    }
    return (
      url.startsWith("https:") || { path: ["url"], issue: `the guard ${name} has a certificate: its url must be https` }
    )
  })
)
export type GuardSettings = typeof GuardSettings.Type

const GuardsFile = Schema.Struct({
  version: Schema.Literal(1),
  guards: Schema.Array(GuardSettings).check(allUnique(({ name }) => name, "two guards have the same name"))
})

const setting = "GATEWAY_GUARDS_FILE"
const parse = parser(GuardsFile, setting, "a guards file")

/** A guard of the file, and what its files hold. */
export interface GuardRead extends GuardSettings {
  readonly client?: ClientCertificate | undefined
}

const readClient = Effect.fnUntraced(function* (path: string, { certificate, key, name }: GuardSettings) {
  if (certificate === undefined || key === undefined) return undefined
  const of = (why: string) => `${path}: the guard ${name} ${why}`
  const read = (file: string) =>
    Effect.map(
      readOwnedBeside(path, file, (why) => of(`names ${file}, which cannot be read (${why})`)),
      (bytes) => bytes.toString("utf8")
    )
  const client: ClientCertificate = { cert: yield* read(certificate), key: yield* read(key) }
  yield* rephrase(checkTlsTexts({ ...client, ...tlsPolicy }), (why) =>
    of(`needs PEM files in certificate and key, and the key the certificate's (${why})`)
  )
  return client
})

/** The guards of the file, in order. Only their owners may be able to change it and the files that it names. */
export const readGuards = Effect.fnUntraced(function* (path: string) {
  const text = yield* readNamed(path, setting)
  const { guards } = yield* parse(path, text)
  const read = yield* Effect.forEach(guards, (guard) =>
    Effect.map(readClient(path, guard), (client): GuardRead => ({ ...guard, client }))
  )
  const certificates = read.flatMap(({ certificate = "", client }) =>
    client === undefined ? [] : [[beside(path, certificate), hash("sha256", client.cert)] as const]
  )
  const version = [text, ...read.flatMap(({ client }) => (client === undefined ? [] : [client.cert, client.key]))]
  const digests = new Map([[path, hash("sha256", text)], ...certificates])
  return { guards: read, version: version.join("\n"), digests }
})

/** The levels of which text may be sent to a guard: as declared, and of a cloud's host no more than the partition table says. */
export const levelsOf = ({ boundary, url }: Pick<GuardSettings, "boundary" | "url">): ReadonlySet<Level> => {
  const host = hostOf(url).toLowerCase()
  if (isLoopback(host)) return new Set(levels)
  const declared = authorizedLevels(Result.getOrElse(parseBoundary(boundary ?? ""), () => ({})))
  const known = isVendorHost(host) ? new Set(authorizedLevels(authorizationOfHost(host))) : undefined
  return new Set(declared.filter((level) => known?.has(level) ?? true))
}
