/** Tokens as the upstream counted them; cached input is part of `input`, reasoning part of `output`. */
export interface Tokens {
  readonly input: number
  readonly output: number
  readonly reasoning?: number | undefined
  readonly cached?: number | undefined
}
