/** Whether a request is signed as AWS asks for it. */
import { hash, timingSafeEqual } from "node:crypto"
import { Hash } from "@smithy/core/serde"
import { SignatureV4 } from "@smithy/signature-v4"
import { type CloudRequest, Refusal } from "../http.ts"
import { insistOn, type Rules } from "../shape.ts"
import type { Access } from "./access.ts"

/** What a signature is checked against. */
type SigningKey = Pick<Access, "accessKeyId" | "secretAccessKey" | "region">

const SKEW = 5 * 60 * 1000

const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/

const insist = (code: string, rules: Rules): void =>
  insistOn(rules, code, (code, message) => new Refusal({ status: 403, message, code }))

const signing = { service: "bedrock", sha256: Hash.bind(null, "sha256"), applyChecksum: false }

/** Computes the request's SigV4 signature again and compares. Throws a `Refusal` (403) with AWS's exception names. */
export const checkSignature = async (
  { method, path, query, headers, body }: Omit<CloudRequest, "seed">,
  key: SigningKey,
  now: number
): Promise<void> => {
  insist("MissingAuthenticationTokenException", { "Missing Authentication Token": headers.authorization !== undefined })
  const match = AUTHORIZATION.exec(headers.authorization ?? "")
  const [, id, day = "", region, service, list = "", signature = ""] = match ?? []
  const signed = list.split(";")
  const stamp = headers["x-amz-date"] ?? ""
  const date = new Date(stamp.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z"))
  const dated = !Number.isNaN(date.getTime()) && stamp.startsWith(day)
  const known = id === key.accessKeyId && headers["x-amz-security-token"] === undefined
  const sent = headers["x-amz-content-sha256"]
  const incomplete = "IncompleteSignatureException"
  insist(incomplete, {
    "Authorization header requires existence of a valid Credential, SignedHeaders and Signature.": match !== null
  })
  insist("UnrecognizedClientException", { "The security token included in the request is invalid.": known })
  insist(incomplete, {
    "Authorization header requires the host and x-amz-date headers to be signed.":
      signed.includes("host") && signed.includes("x-amz-date") && dated
  })
  insist("InvalidSignatureException", {
    [`Signature expired: ${stamp} is not within 5 min. of the current time.`]: Math.abs(now - date.getTime()) <= SKEW,
    [`Credential should be scoped to a valid region, not '${region}'.`]: region === key.region,
    "Credential should be scoped to correct service: 'bedrock'.": service === "bedrock",
    "The provided 'x-amz-content-sha256' header does not match what was computed.":
      sent === undefined || sent === hash("sha256", body)
  })
  const expected = await new SignatureV4({ ...signing, region: key.region, credentials: key }).sign(
    {
      ...{ method, path, body, protocol: "http:", hostname: headers.host ?? "" },
      query: Object.fromEntries(query),
      headers: Object.fromEntries(signed.map((name) => [name, headers[name] ?? ""]))
    },
    { signingDate: date, signableHeaders: new Set(signed) }
  )
  const computed = /Signature=([0-9a-f]{64})/.exec(expected.headers.authorization ?? "")?.[1] ?? ""
  insist("InvalidSignatureException", {
    "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method. Consult the service documentation for details.":
      timingSafeEqual(Buffer.from(computed.padEnd(64)), Buffer.from(signature))
  })
}
