/** A limit beyond the model's largest output, which no cloud takes (docs/api.md#adjusted-requests). */
import { describe, expect, it } from "@effect/vitest"
import { objectOf } from "../../src/wire/json.ts"
import { asked, azure, flash, opus, opusBedrock, oss, sonnet, terra } from "./support.ts"

describe.each([sonnet, opus, opusBedrock, flash, azure, terra, oss].map((route) => [route.model.id, route] as const))(
  "%s",
  (_, route) => {
    const most = route.model.maxOutputTokens
    const sent = (limit: object) => {
      const { adjusted, body } = asked(route, { reasoning_effort: "none", ...limit })
      const { max_completion_tokens, max_output_tokens, max_tokens } = body
      const named = adjusted.filter((change) => change.startsWith("max_"))
      const { maxOutputTokens } = objectOf(body.generationConfig)
      return [max_tokens ?? max_completion_tokens ?? max_output_tokens ?? maxOutputTokens, named]
    }

    it("is sent its largest output, and it is named", () => {
      expect(sent({ max_tokens: most + 1 })).toEqual([most, [`max_tokens:${most + 1}->${most}`]])
      expect(sent({ max_completion_tokens: 10 * most })).toEqual([
        most,
        [`max_completion_tokens:${10 * most}->${most}`]
      ])
    })

    it("is sent what it takes as it is", () => {
      expect(sent({ max_tokens: most })).toEqual([most, []])
      expect(sent({ max_tokens: 3000 })).toEqual([3000, []])
    })
  }
)
