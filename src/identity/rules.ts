/** Which rule holds for a token or a certificate, and what it gives. Pure. */
import { hash } from "node:crypto"
import { Struct } from "effect"
import type { CallerIdentity, TeamIdentity } from "../contract/Security.ts"
import { matches } from "../limits/KeyFile.ts"
import { callerOf } from "../limits/limits.ts"
import { isObject, isRaw } from "../wire/json.ts"
import type { CertificateFields } from "./certificate.ts"
import type { Patterns, Rule } from "./IdentityFile.ts"

const hold = (patterns: Patterns, values: ReadonlyArray<string>): boolean =>
  [patterns].flat().some((pattern) => values.some((value) => matches(pattern, value)))

const textsOf = (value: unknown): ReadonlyArray<string> => {
  if (Array.isArray(value)) return value.flatMap((item) => (Array.isArray(item) ? [] : textsOf(item)))
  if (typeof value === "object" && value !== null && isRaw(value)) return [value.rawJSON]
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? [String(value)] : []
}

/** A claim by its name, which may have slashes, or else by its path. */
const claimOf = (claims: Readonly<Record<string, unknown>>, name: string): unknown => {
  if (Object.hasOwn(claims, name)) return claims[name]
  return name
    .split("/")
    .reduce<unknown>((value, key) => (isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined), claims)
}

export const ruleForToken = (rules: ReadonlyArray<Rule>, issuer: string, claims: Readonly<Record<string, unknown>>) =>
  rules
    .filter((rule) => "issuer" in rule)
    .find(
      (rule) =>
        rule.issuer === issuer &&
        Object.entries(rule.claims).every(([name, patterns]) => hold(patterns, textsOf(claimOf(claims, name))))
    )

/** `authorities`: the names of those that have issued the certificate. */
export const ruleForCertificate = (
  rules: ReadonlyArray<Rule>,
  authorities: ReadonlyArray<string>,
  fields: CertificateFields
) =>
  rules
    .filter((rule) => "authority" in rule)
    .find(
      ({ authority, certificate }) =>
        authorities.includes(authority) &&
        Struct.keys(certificate).every((name) => {
          const patterns = certificate[name]
          return patterns === undefined || hold(patterns, [fields[name]].flat())
        })
    )

/** The ID of a caller without a key: the same for every token or certificate of one subject, and not to be guessed back. */
export const callerId = (kind: "jwt" | "crt", issuer: string, subject: string): string =>
  `${kind}_${hash("sha256", JSON.stringify([issuer, subject]), "hex").slice(0, 24)}`

/** Characters of a name that a token or certificate gives. */
const maxName = 200

/** What a rule gives to the subject with this ID and name. */
export const granted = (rule: Rule, id: string, name: string, team: TeamIdentity | undefined): CallerIdentity => {
  const shown = rule.name ?? name.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "?").slice(0, maxName)
  return callerOf(id, shown, rule, team)
}
