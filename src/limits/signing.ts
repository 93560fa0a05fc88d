/** Signatures over the heads of chains of records: ECDSA on P-256 with SHA-256 (docs/records.md#signed-records). */
import { createPrivateKey, createPublicKey, hash, type KeyObject, sign, verify } from "node:crypto"
import { Effect, Result } from "effect"
import { fail, OperatorError } from "../wire/OperatorError.ts"
import { readOwned } from "./files.ts"

/** SHA-256, hex, of the public key in DER (SubjectPublicKeyInfo), cut: which key has signed. */
const nameOf = (key: KeyObject): string =>
  hash("sha256", key.export({ type: "spki", format: "der" }), "hex").slice(0, 16)

export interface Signer {
  readonly key: string
  /** Base64url of the two numbers (IEEE P1363). */
  readonly sign: (text: string) => string
}

const dsaEncoding = "ieee-p1363" as const
const isP256 = (key: KeyObject): boolean => key.asymmetricKeyDetails?.namedCurve === "prime256v1"

const keyIn = (path: string, parse: (pem: string) => KeyObject, what: string) =>
  Effect.gen(function* () {
    const refuse = (why: string) => fail(`${path} ${why}`)
    const pem = yield* readOwned(path)
    if (pem === undefined) return yield* refuse("does not exist")
    const key = Result.try(() => parse(pem))
    // What OpenSSL says of a file that holds a secret may quote it.
    if (Result.isFailure(key) || !isP256(key.success)) return yield* refuse(`is no ${what} on P-256 (PEM)`)
    return key.success
  })

/** The key that signs. Fails where the file has none, or others than its owner may write it. */
export const readSigner = (path: string): Effect.Effect<Signer, OperatorError> =>
  Effect.map(
    Effect.mapError(
      keyIn(path, (pem) => createPrivateKey(pem), "private key"),
      ({ message }) =>
        new OperatorError({
          message: `GATEWAY_RECORD_SIGNING_KEY: ${message}. Make one: openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out records.key`
        })
    ),
    (key) => ({
      key: nameOf(createPublicKey(key)),
      sign: (text) => sign("sha256", Buffer.from(text), { key, dsaEncoding }).toString("base64url")
    })
  )

export interface Verifier {
  readonly key: string
  readonly isSigned: (text: string, signature: string) => boolean
}

/** The public key of a file, which may also hold a certificate. */
export const readVerifier = (path: string): Effect.Effect<Verifier, OperatorError> =>
  Effect.map(
    keyIn(path, (pem) => createPublicKey(pem), "public key"),
    (key) => ({
      key: nameOf(key),
      isSigned: (text, signature) =>
        verify("sha256", Buffer.from(text), { key, dsaEncoding }, Buffer.from(signature, "base64url"))
    })
  )
