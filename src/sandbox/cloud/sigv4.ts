/** Whether a request is signed as AWS asks for it. */
import { timingSafeEqual } from "node:crypto"
import { Hash } from "@smithy/core/serde"
import { SignatureV4 } from "@smithy/signature-v4"
import { type CloudRequest, Refusal } from "../http.ts"
import { digestHex } from "../signature.ts"

/** What a signature is checked against. */
export interface SigningKey {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly region: string
}

const SKEW = 5 * 60 * 1000

const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/

const refuse = (code: string, message: string): never => {
  throw new Refusal(403, message, code)
}

const dateOf = (stamp: string): Date =>
  new Date(stamp.replace(/^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})Z$/, "$1-$2-$3T$4:$5:$6Z"))

/** Computes the request's SigV4 signature again and compares. Throws a `Refusal` (403) with AWS's exception names. */
export const checkSignature = async (request: CloudRequest, key: SigningKey, now: number): Promise<void> => {
  const header = request.headers.authorization
  if (header === undefined) return refuse("MissingAuthenticationTokenException", "Missing Authentication Token")
  const match = AUTHORIZATION.exec(header)
  if (match === null)
    return refuse(
      "IncompleteSignatureException",
      "Authorization header requires existence of a valid Credential, SignedHeaders and Signature."
    )
  const [, id, day, region, service, list = "", signature = ""] = match
  if (id !== key.accessKeyId || request.headers["x-amz-security-token"] !== undefined) {
    return refuse("UnrecognizedClientException", "The security token included in the request is invalid.")
  }
  const signed = list.split(";")
  const stamp = request.headers["x-amz-date"] ?? ""
  const date = dateOf(stamp)
  if (
    !signed.includes("host") ||
    !signed.includes("x-amz-date") ||
    Number.isNaN(date.getTime()) ||
    !stamp.startsWith(day ?? "")
  ) {
    return refuse(
      "IncompleteSignatureException",
      "Authorization header requires the host and x-amz-date headers to be signed."
    )
  }
  if (Math.abs(now - date.getTime()) > SKEW)
    return refuse("InvalidSignatureException", `Signature expired: ${stamp} is not within 5 min. of the current time.`)
  if (region !== key.region)
    return refuse("InvalidSignatureException", `Credential should be scoped to a valid region, not '${region}'.`)
  if (service !== "bedrock")
    return refuse("InvalidSignatureException", `Credential should be scoped to correct service: 'bedrock'.`)
  const claimed = request.headers["x-amz-content-sha256"]
  if (claimed !== undefined && claimed !== digestHex(request.body)) {
    return refuse(
      "InvalidSignatureException",
      "The provided 'x-amz-content-sha256' header does not match what was computed."
    )
  }
  const signer = new SignatureV4({
    service: "bedrock",
    region: key.region,
    credentials: key,
    sha256: Hash.bind(null, "sha256"),
    applyChecksum: false
  })
  const expected = await signer.sign(
    {
      method: request.method,
      protocol: "http:",
      hostname: request.headers.host ?? "",
      path: request.path,
      query: Object.fromEntries(request.query),
      headers: Object.fromEntries(signed.map((name) => [name, request.headers[name] ?? ""])),
      body: request.body
    },
    { signingDate: date, signableHeaders: new Set(signed) }
  )
  const computed = /Signature=([0-9a-f]{64})/.exec(expected.headers.authorization ?? "")?.[1] ?? ""
  if (!timingSafeEqual(Buffer.from(computed.padEnd(64)), Buffer.from(signature))) {
    refuse(
      "InvalidSignatureException",
      "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method. Consult the service documentation for details."
    )
  }
}
