/** What each dialect says that it changed of a request (docs/api.md#adjusted-requests). */
import { describe, expect, it } from "@effect/vitest"
import { adjusted, azure, flash, opus, oss, routeOf, sonnet, sonnetBedrock, terra, tool } from "./support.ts"

const off = { reasoning_effort: "none", max_tokens: 100 }
const tools = [tool("f")]

describe("what was adjusted", () => {
  it.each([
    ["nothing", sonnet, { ...off, temperature: 1, stop: ["x"], user: "u", tools, tool_choice: "required" }, []],
    [
      "nothing of what asks for nothing",
      sonnet,
      { ...off, seed: null, logprobs: false, store: false, presence_penalty: 0, logit_bias: {}, modalities: ["text"] },
      []
    ],
    [
      "what no vendor but OpenAI has",
      sonnet,
      { ...off, seed: 1, logprobs: true },
      ["seed:removed", "logprobs:removed"]
    ],
    ["a temperature above the vendor's", sonnet, { ...off, temperature: 1.7 }, ["temperature:1.7->1"]],
    ["one of two", sonnet, { ...off, temperature: 0.5, top_p: 0.5 }, ["top_p:removed"]],
    [
      "sampling and force beside thinking",
      sonnet,
      { max_tokens: 9000, temperature: 0, tools, tool_choice: "required" },
      ["temperature:removed", "tool_choice:required->auto"]
    ],
    ["a limit that was not given", sonnet, { reasoning_effort: "medium" }, ["max_tokens:unset->12288"]],
    [
      "an effort that the model does not have",
      sonnet,
      { max_tokens: 40_000, reasoning_effort: "xhigh" },
      ["reasoning_effort:xhigh->high"]
    ],
    [
      "an effort for which there is no room",
      sonnet,
      { max_tokens: 100, reasoning_effort: "low" },
      ["reasoning_effort:low->none"]
    ],
    [
      "an assistant that speaks first",
      sonnet,
      { ...off, messages: [{ role: "assistant", content: "Hi." }] },
      ["messages:assistant-first"]
    ],
    ["a user on Bedrock", sonnetBedrock, { ...off, user: "u" }, []],
    ["a user that has an address", sonnetBedrock, { ...off, user: "u@example.gov" }, ["user:plain->sha256"]],
    ["a seed beyond the range", flash, { seed: 2 ** 31 }, ["seed:2147483648->0"]],
    [
      "a format that is an instruction",
      sonnet,
      { ...off, response_format: { type: "json_object" } },
      ["response_format:json_object->instruction"]
    ],
    ["sampling that a model never takes", opus, { ...off, temperature: 1 }, ["temperature:removed"]],
    [
      "a temperature of 0 that a Gemini never takes",
      routeOf("gemini-3-flash", "vertex", { sampling: "never" }),
      { temperature: 0, top_p: null },
      ["temperature:removed"]
    ],
    ["nothing of Gemini's own", flash, { temperature: 1.7, seed: 1, presence_penalty: 1, tools }, []],
    [
      "a forced tool of Gemini's",
      flash,
      { tools, tool_choice: { type: "function", function: { name: "f" } } },
      ["tool_choice:f->auto"]
    ],
    ["nothing of Gemini's probabilities", flash, { logprobs: true, top_logprobs: 2 }, []],
    [
      "Gemini's probabilities of a text that is cut here",
      flash,
      { logprobs: true, stop: ["a", "b", "c", "d", "e", "f"] },
      ["logprobs:removed"]
    ],
    [
      "Gemini's probabilities of a stream",
      flash,
      { logprobs: true, top_logprobs: 2, stream: true },
      ["logprobs:removed", "top_logprobs:removed"]
    ],
    [
      "sampling beside GPT's thinking",
      azure,
      { temperature: 1, logprobs: true, top_logprobs: 2, presence_penalty: 0, logit_bias: { 1: 1 } },
      ["temperature:removed", "logprobs:removed", "top_logprobs:removed", "logit_bias:removed"]
    ],
    [
      "probabilities of what a watched stop sequence cuts off",
      azure,
      { reasoning_effort: "none", stop: ["a", "b", "c", "d", "e"], logprobs: true, top_logprobs: 2 },
      ["logprobs:removed", "top_logprobs:removed"]
    ],
    ["sound that the responses API does not make", terra, { modalities: ["text", "audio"] }, ["modalities:removed"]],
    ["text, which it makes anyway", terra, { modalities: ["text"], tool_choice: "auto" }, []],
    [
      "probabilities that would show gpt-oss's reasoning",
      oss,
      { temperature: 1, logprobs: true, reasoning_effort: "none" },
      ["logprobs:removed", "reasoning_effort:none->low"]
    ],
    ["nothing of GPT's own", azure, { reasoning_effort: "none", temperature: 1, logprobs: true, seed: 1, tools }, []],
    [
      "what the responses API does not have",
      terra,
      {
        reasoning_effort: "none",
        seed: 1,
        presence_penalty: 1,
        top_p: 0.5,
        max_tokens: 9,
        prediction: { type: "content" }
      },
      ["seed:removed", "presence_penalty:removed", "prediction:removed", "max_tokens:9->16"]
    ],
    [
      "what is the responses API's own",
      terra,
      { previous_response_id: "resp_1", include: ["x"], truncation: "auto", input: "hi", instructions: "i" },
      ["previous_response_id:removed", "include:removed", "truncation:removed", "input:removed", "instructions:removed"]
    ],
    ["nothing that it says in other words", terra, { verbosity: "low", response_format: { type: "json_object" } }, []],
    ["levels end at high", flash, { reasoning_effort: "max" }, ["reasoning_effort:max->high"]]
  ])("%s", (_, route, fields, expected) => {
    expect(adjusted(route, fields)).toEqual(expected)
  })
})
