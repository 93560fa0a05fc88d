/**
 * Who a request is for (`metadata.user_id`). The vendor wants an opaque identifier, such as a hash, and refuses addresses and phone
 * numbers of people, texts of more than 256 characters and, on Bedrock, most punctuation (docs/upstreams.md#request-metadata). Such a
 * one becomes its digest, which is the same in every request, so that the vendor can still tell users apart.
 */
import { createHash } from "node:crypto"
import { type JsonObject, objectOf, textOf } from "../../wire/json.ts"
import { type Adjusted, changed } from "../adjustments.ts"

const maxLength = 256
/** What Bedrock takes of ASCII, but for blanks and `@`. */
const plain = /^[\w:$#=/+,.-]*$/
/** Digits that stand for themselves, as in a phone number; those within a UUID or a word do not. */
const phone = /(?<![\w-])\+?\d[\d.-]{5,}\d(?![\w-])/

/** The identifier as the vendor takes it on every cloud. */
export const opaqueUser = (id: string): string =>
  id.length <= maxLength && plain.test(id) && !phone.test(id) ? id : createHash("sha256").update(id).digest("hex")

/** That an identifier was replaced; never the identifier, which may name a person. */
export const hashed = (name: string): string => changed(name, "plain", "sha256")

/** The same in a body of the messages surface, which is shared where nothing is replaced. */
export const withOpaqueUser = (body: JsonObject, adjusted: Adjusted): JsonObject => {
  const metadata = objectOf(body.metadata)
  const id = textOf(metadata.user_id)
  const user_id = id === undefined ? id : opaqueUser(id)
  if (user_id === undefined || user_id === id) return body
  adjusted.add(hashed("metadata.user_id"))
  return { ...body, metadata: { ...metadata, user_id } }
}
