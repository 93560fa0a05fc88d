import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { shippedCatalog } from "../../src/catalog/CatalogStore.ts"
import { checkCatalog } from "../../src/catalog/checkCatalog.ts"

const { models } = Result.getOrThrow(shippedCatalog)

describe("the shipped catalog", () => {
  it("is one that an operator may give", () => {
    const text = readFileSync(new URL("../../src/catalog/catalog.json", import.meta.url), "utf8")
    assert.deepStrictEqual(checkCatalog(text), shippedCatalog)
  })

  // The table in README.md; docs/decisions.md#model-ids-and-levels.
  it("has the models of the decisions, with their deployments in order", () => {
    const rows = models.map(({ id, family, thinking, inputs, deployments }) =>
      [
        [id, family, thinking.api, inputs.join("+") || "text"].join(" "),
        ...deployments.map(({ cloud, authorization: { fedramp, impact, itar } }) =>
          [cloud, fedramp ?? "-", impact ?? "-", itar ?? "-"].join(" ")
        )
      ].join(" | ")
    )
    assert.deepStrictEqual(rows, [
      "claude-sonnet-4-5 claude budgeted image+pdf | vertex fedramp-high il2 - | bedrock fedramp-high il5 ladder",
      "claude-haiku-4-5 claude budgeted image+pdf | vertex fedramp-high il2 - | bedrock fedramp-high il5 ladder",
      "claude-opus-4-7 claude adaptive image+pdf | vertex fedramp-high il2 - | bedrock fedramp-high il5 ladder",
      "claude-opus-4-8 claude adaptive image+pdf | vertex fedramp-high il2 - | bedrock - - standalone",
      "claude-opus-5 claude adaptive image+pdf | vertex fedramp-high il2 - | bedrock fedramp-high - only",
      "claude-sonnet-5 claude adaptive image+pdf | bedrock fedramp-high il5 ladder",
      "gemini-3-flash gemini level image+pdf | vertex fedramp-high il2 -",
      "gpt-5.1 gpt effort image | azure fedramp-high il5 -",
      "gpt-5.6-terra gpt effort image | bedrock fedramp-high il5 ladder",
      "gpt-oss-120b gpt effort text | bedrock fedramp-high il5 ladder",
      "titan-embed-text-v2 embedding none text | bedrock fedramp-high il5 ladder"
    ])
  })

  // docs/api.md#reasoning, docs/api.md#chat-answers.
  it("has the spec's default efforts and token counts", () => {
    for (const { id, family, thinking } of models.filter(({ family }) => family !== "embedding")) {
      assert.strictEqual(thinking.default, id === "gpt-5.1" ? "high" : "medium", id)
      assert.strictEqual(thinking.counted, family === "gemini" || /^gpt-5/.test(id), id)
    }
  })

  // docs/api.md#reasoning, rules 5 to 7.
  it("has the spec's rules for sampling and forced tools", () => {
    for (const { id, family, sampling, forcedToolChoice } of models.filter(({ family }) => family !== "embedding")) {
      const keeps = family === "gemini" || id === "gpt-oss-120b"
      assert.strictEqual(sampling === "always", keeps, id)
      const forced = family === "claude" ? "without-thinking" : family === "gemini" ? "never" : "always"
      assert.strictEqual(forcedToolChoice, forced, id)
    }
  })

  it("names GovCloud profiles for inference and bare models for counting on Bedrock", () => {
    for (const { family, deployments } of models) {
      for (const { cloud, model, countModel } of deployments) {
        if (cloud !== "bedrock" || family !== "claude") continue
        assert.match(model, /^us-gov\.anthropic\./)
        if (countModel !== undefined) assert.strictEqual(`us-gov.${countModel}`, model)
      }
    }
  })

  it("strips what the clouds refuse, and honours the interleaved beta only on Bedrock's budgeted models", () => {
    for (const { id, family, thinking, deployments } of models) {
      for (const { cloud, strip = [], interleavedBudget, betas = [], countBetas = [] } of deployments) {
        if (family !== "claude") continue
        const budgeted = thinking.api === "budgeted"
        for (const field of ["context_management", "tools[].defer_loading", "tools[].cache_control.scope"]) {
          assert.include(strip, field, id)
        }
        // docs/upstreams.md#structured-output-of-claude.
        const format = ["output_config", "output_config.format"].every((field) => !strip.includes(field))
        assert.strictEqual(format, budgeted === (cloud === "bedrock"), id)
        assert.strictEqual(
          strip.some((field) => ["output_config", "output_config.effort"].includes(field)),
          budgeted,
          id
        )
        assert.strictEqual(interleavedBudget === true, budgeted && cloud === "bedrock", id)
        assert.strictEqual(betas.includes("interleaved-thinking-2025-05-14"), budgeted, id)
        for (const beta of countBetas) assert.include(betas, beta)
      }
    }
  })
})
