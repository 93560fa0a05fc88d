/** Client certificates: what they say of their subject, and whether an authority of the operator's stands behind them. */
import { X509Certificate } from "node:crypto"
import { createSecureContext, type SecureContextOptions } from "node:tls"
import { Array as Arr, Effect, Result } from "effect"
import type { Refusal } from "../catalog/GatewayError.ts"
import { readRegular } from "../regularFile.ts"
import { messageOf, rephrase } from "../wire/OperatorError.ts"
import { plainSerial, type RevocationList } from "./crl.ts"
import { childrenOf, elementAt, isStrong } from "./der.ts"

/** Node separates names by a comma and a blank, and quotes a name that could be read otherwise as JSON. */
const alternativeName = /(?:^|, )([^:,"]+):("(?:[^"\\]|\\.)*"|[^,]*)/g

const unquoted = (text: string): string => (text.startsWith('"') ? String(JSON.parse(text)) : text)

/** What rules look at, and how a caller is called. Node has no text of an empty name, which its types do not say. */
export const fieldsOf = ({ issuer = "", serialNumber, subject = "", subjectAltName = "" }: X509Certificate) => {
  const names = [...subjectAltName.matchAll(alternativeName)]
  const of = (wanted: string) => names.flatMap(([, kind, name = ""]) => (kind === wanted ? [unquoted(name)] : []))
  /** Of the subject alternative name: user principal names, URIs (SPIFFE IDs), DNS names, e-mail addresses. */
  const alternatives = {
    upn: of("othername").flatMap((name) => (name.startsWith("UPN:") ? [name.slice(4)] : [])),
    uri: of("URI"),
    dns: of("DNS"),
    email: of("email")
  }
  const lines = subject.split("\n")
  const [alternative = subjectAltName] = Object.values(alternatives).flat()
  return {
    /** `CN=DOE.JANE.1234567890,O=Agency`: the attributes in the certificate's order, commas in values escaped. */
    subject: lines.join(","),
    issuer: issuer.split("\n").join(","),
    /** Hexadecimal capitals, without leading zeros. */
    serial: plainSerial(serialNumber),
    ...alternatives,
    /** Whose it is: the subject, or the names that stand for an empty one (RFC 5280, section 4.1.2.6). */
    holder: lines.join(",") || subjectAltName,
    /** The common name, or the whole subject, or the first of the other names. */
    name: lines.find((line) => line.startsWith("CN="))?.slice(3) ?? (lines.join(",") || alternative)
  }
}
export type CertificateFields = ReturnType<typeof fieldsOf>

/** Certificates that are trusted to issue, each with its own revocation lists. */
export interface Authority {
  readonly name: string
  readonly issuers: ReadonlyArray<{
    readonly certificate: X509Certificate
    readonly lists: ReadonlyArray<RevocationList>
  }>
  /** Whether a certificate whose issuer has no list in force is refused. */
  readonly needsList: boolean
}

const clientAuth = "1.3.6.1.5.5.7.3.2"

export const isInTime = ({ validFromDate, validToDate }: X509Certificate, now: number): boolean =>
  validFromDate.getTime() <= now && now < validToDate.getTime()

/** Until when its revocation lists say something, in milliseconds since the epoch; undefined where it has none. */
export const listsEnd = ({ lists }: Authority["issuers"][number]): number | undefined =>
  lists.length === 0 ? undefined : Math.max(...lists.map(({ nextUpdate }) => nextUpdate))

/** Why a certificate is refused: in words for its holder, and for audit events. */
const problem = (message: string, why: Refusal = "certificate") => ({ message, why })

/** Why a certificate that one of the authority's has issued is refused; undefined where it is good. */
const problemWith = (
  certificate: X509Certificate,
  { certificate: issuer, lists }: Authority["issuers"][number],
  needsList: boolean,
  now: number
) => {
  if (!isInTime(certificate, now)) return problem("the client certificate has expired or is not valid yet", "expired")
  if (!isInTime(issuer, now)) return problem("the authority of the client certificate has expired", "expired")
  const { ca, keyUsage, raw } = certificate
  if (ca) return problem("the client certificate is an authority's")
  if (keyUsage !== undefined && !keyUsage.includes(clientAuth))
    return problem("the client certificate is not for clients")
  // By its DER, because Node has no name of the algorithm before 24.9, and none of the digest of RSA-PSS.
  const [, algorithm] = childrenOf(raw, elementAt(raw, 0, raw.length))
  if (algorithm === undefined || !isStrong(raw, algorithm)) {
    return problem("the client certificate is not signed with SHA-2")
  }
  const current = lists.filter(({ nextUpdate }) => now < nextUpdate)
  if (needsList && current.length === 0)
    return problem("the revocation list of the client certificate's authority is out of date")
  const serial = plainSerial(certificate.serialNumber)
  return current.some(({ revoked }) => revoked.has(serial))
    ? problem("the client certificate has been revoked", "certificate-revoked")
    : undefined
}

const hasIssued = (authority: X509Certificate, certificate: X509Certificate): boolean =>
  certificate.checkIssued(authority) && certificate.verify(authority.publicKey)

/** Those of an authority's certificates that no list of another one revokes. A list that is out of date revokes, too. */
export const unrevoked = (issuers: Authority["issuers"]): Authority["issuers"] =>
  issuers.filter(({ certificate }) => {
    const serial = plainSerial(certificate.serialNumber)
    return !issuers.some(
      ({ certificate: authority, lists }) =>
        lists.some(({ revoked }) => revoked.has(serial)) && hasIssued(authority, certificate)
    )
  })

/** The names of the authorities that have issued the certificate, or why it is refused. `now`: milliseconds since the epoch. */
export const authoritiesOf = (certificate: X509Certificate, authorities: ReadonlyArray<Authority>, now: number) => {
  const problems: Array<ReturnType<typeof problem>> = []
  const names = authorities.flatMap(({ issuers, name, needsList }) => {
    // An authority that was renewed with its key has two certificates, each of which has issued.
    const found = issuers
      .filter(({ certificate: authority }) => hasIssued(authority, certificate))
      .map((issuer) => problemWith(certificate, issuer, needsList, now))
    if (found.includes(undefined)) return [name]
    problems.push(...found.filter((one) => one !== undefined))
    return []
  })
  if (names.length > 0) return Result.succeed(names)
  return Result.fail(problems[0] ?? problem("the client certificate is of no authority that is trusted here", "issuer"))
}

/** One that is cut off, in a file that is being written, too: it is broken, not absent. */
const pem = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]*(?:-----END CERTIFICATE-----)?/g

/** The certificates of a PEM text, at least one. */
const certificatesIn = (text: string): Result.Result<Arr.NonEmptyReadonlyArray<X509Certificate>, string> => {
  const texts = text.match(pem) ?? []
  if (!Arr.isArrayNonEmpty(texts)) return Result.fail("it has no certificate (PEM)")
  return Result.try({
    try: () => Arr.map(texts, (text) => new X509Certificate(text)),
    catch: () => "it has a broken certificate"
  })
}

/** Fails where TLS cannot be made from these texts, or one has no certificate or a broken one, which OpenSSL passes over. */
export const checkTlsTexts = Effect.fnUntraced(function* (options: SecureContextOptions) {
  yield* Effect.try({ try: () => createSecureContext(options), catch: (cause) => ({ message: messageOf(cause) }) })
  for (const text of [options.cert, options.ca]) {
    if (text !== undefined)
      yield* Effect.mapError(Effect.fromResult(certificatesIn(String(text))), (message) => ({ message }))
  }
})

/** The certificates of a PEM file, each of which must be an authority's. */
export const parseAuthorities = (file: Buffer): Result.Result<ReadonlyArray<X509Certificate>, string> =>
  Result.filterOrFail(
    certificatesIn(file.toString("latin1")),
    (certificates) => certificates.every(({ ca }) => ca),
    () => "it has a certificate that is not an authority's"
  )

/** The certificates of a PEM file; a server's own is the first. */
export const readCertificates = (path: string) =>
  rephrase(
    Effect.flatMap(readRegular(path), ({ bytes }) =>
      Effect.mapError(Effect.fromResult(certificatesIn(bytes.toString("latin1"))), (message) => ({ message }))
    ),
    (message) => `cannot read ${path}: ${message}`
  )

/** When the certificates of a PEM text end, in milliseconds since the epoch. */
export const endsIn = (text: string): ReadonlyArray<number> =>
  Result.getOrElse(certificatesIn(text), (): ReadonlyArray<X509Certificate> => []).map(({ validToDate }) =>
    validToDate.getTime()
  )

export const parseCertificate = (der: Buffer): Result.Result<X509Certificate, string> =>
  Result.try({ try: () => new X509Certificate(der), catch: () => "the client certificate cannot be read" })
