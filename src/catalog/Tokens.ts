/** Tokens, mostly as the upstream counted them; cached input and what was written to a cache are part of `input`, reasoning of `output`. */
export interface Tokens {
  readonly input: number
  readonly output: number
  readonly reasoning?: number | undefined
  /** Input that came from a prompt cache. */
  readonly cached?: number | undefined
  /** Input that was written to a prompt cache. */
  readonly cacheWrites?: number | undefined
  /** The upstream has not counted the whole reply: about what it was. */
  readonly estimated?: boolean | undefined
}
