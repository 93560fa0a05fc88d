/** Checks Signature Version 4 of AWS. */
import { hash, timingSafeEqual } from "node:crypto"
import { Hash } from "@smithy/core/serde"
import { SignatureV4 } from "@smithy/signature-v4"
import { Record } from "effect"
import { type CloudRequest, Refusal } from "../http.ts"
import type { Access } from "./access.ts"

const SKEW = 5 * 60 * 1000
const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/\d{8}\/[^,]+, ?SignedHeaders=([^,]+), ?Signature=[0-9a-f]{64}$/

const MISMATCH =
  "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method. Consult the service documentation for details."

const refused = (code: string, message: string): Refusal =>
  new Refusal({ status: 403, message, code: `${code}Exception` })

/** Signs the request again and compares. A refusal has AWS's exception name. */
export const checkSignature = async (
  { method, path, query, headers, body }: Omit<CloudRequest, "seed">,
  key: Pick<Access, "accessKeyId" | "secretAccessKey" | "region">,
  now: number
): Promise<Refusal | undefined> => {
  const { authorization, host = "", "x-amz-date": stamp = "", "x-amz-security-token": session } = headers
  if (authorization === undefined) return refused("MissingAuthenticationToken", "Missing Authentication Token")
  const [match, id, list = ""] = AUTHORIZATION.exec(authorization) ?? []
  const names = list.split(";")
  const date = new Date(stamp.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z"))
  const complete = match !== undefined && names.includes("host") && names.includes("x-amz-date")
  const needs = "Authorization header requires existence of a valid Credential, SignedHeaders and Signature."
  if (!complete || Number.isNaN(date.getTime())) return refused("IncompleteSignature", needs)
  if (id !== key.accessKeyId || session !== undefined)
    return refused("UnrecognizedClient", "The security token included in the request is invalid.")
  if (Math.abs(now - date.getTime()) > SKEW)
    return refused("InvalidSignature", `Signature expired: ${stamp} is not within 5 min. of the current time.`)
  const service = { service: "bedrock", region: key.region, sha256: Hash.bind(null, "sha256"), applyChecksum: false }
  const signed = Record.filter(headers, (_, name) => names.includes(name))
  const again = await new SignatureV4({ ...service, credentials: key }).sign(
    { method, path, body, protocol: "http:", hostname: host, query: Object.fromEntries(query), headers: signed },
    { signingDate: date, signableHeaders: new Set(names) }
  )
  const { "x-amz-content-sha256": sum = hash("sha256", body) } = headers
  const digestOf = (value = "") => Buffer.from(hash("sha256", value.replaceAll(", ", ",")))
  const same = timingSafeEqual(digestOf(again.headers.authorization), digestOf(authorization))
  return same && sum === hash("sha256", body) ? undefined : refused("InvalidSignature", MISMATCH)
}
