/** Where the texts of requests and replies are, as guards are told of them (docs/guards.md#what-is-sent). */

/** Who speaks, or what a text is for. */
export type Place = "system" | "user" | "assistant" | "tool" | "arguments" | "thinking"

/** Where the texts of a body are, by its top fields. */
export type Fields = Readonly<Record<string, Place>>

/** Where the texts of a surface's requests and of its whole replies are. */
export interface GuardedFields {
  readonly request: Fields
  /** Of the texts in all other fields of a request, where the surface passes them on. */
  readonly others?: Place
  readonly reply: Fields
}
