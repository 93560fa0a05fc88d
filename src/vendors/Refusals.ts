/**
 * What a vendor's refusal says of a request, in the vendor's own words (docs/decisions.md#fields-that-a-cloud-refuses). A refusal may
 * quote its caller, so only whole sentences are read.
 */

/** Paths of fields that go together (`wire/strip.ts`); a body may have only some of them. */
export type Paths = ReadonlyArray<string>

/** What is to be left out. */
interface RefusedPart {
  /** One field, by the names that lead to it: outermost first, with indexes of arrays. */
  readonly names?: ReadonlyArray<string>
  /** Or the first of these of which the body has any. */
  readonly paths?: ReadonlyArray<Paths>
  /** The refusal holds only for the same values of these, or of the field (`"field"`). Absent: for all values. */
  readonly of?: Paths | "field"
}

export interface Refusals {
  readonly read: (message: string) => RefusedPart | undefined
  /**
   * What makes a request what it is. Such a field is refused where it stands in the wrong place, which the caller must correct: the
   * refusal is the answer.
   */
  readonly essential: ReadonlySet<string>
  /** What is below these is the caller's own: schemas, and arguments of calls. */
  readonly opaque: ReadonlySet<string>
}

type Sentence = readonly [words: RegExp, part: (...groups: ReadonlyArray<string>) => RefusedPart]

/** Reads a message by the first of the sentences that it is. */
export const reading =
  (sentences: ReadonlyArray<Sentence>): Refusals["read"] =>
  (message) => {
    for (const [words, part] of sentences) {
      const match = words.exec(message)
      if (match !== null) return part(...match.slice(1).map((group) => group ?? ""))
    }
    return undefined
  }

/** The names of a path such as `a.b[1].c`. */
export const namesOf = (path: string): ReadonlyArray<string> => path.replace(/\[(\d+)\]/g, ".$1").split(".")

/** Of Bedrock, whichever model it serves. */
export const extraneousKey: Sentence = [
  /^(?:The model returned the following errors: )?(?:Malformed input request: )?#((?:\/[\w$-]+)*)\/?: extraneous key \[([\w$-]+)\] is not permitted(?:, please reformat your input and try again\.)?$/,
  (pointer = "", key = "") => ({ names: [...pointer.split("/").slice(1), key] })
]
