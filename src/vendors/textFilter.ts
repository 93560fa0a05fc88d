/** Takes parts out of a text that arrives in pieces. Mutable, made anew for each answer. */
export interface TextFilter {
  /** What of the text so far may be shown and has not been. */
  push(text: string): string
  /** The text has ended: what was held back and is text after all. */
  end(): string
}

/** Shows everything. */
export const noFilter: TextFilter = { push: (text) => text, end: () => "" }
