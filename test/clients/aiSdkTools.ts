/** What tests of the AI SDK offer and ask for, whichever provider they use. */
import { jsonSchema, Output, tool } from "ai"

export const tools = {
  get_weather: tool({
    description: "The weather of a city",
    inputSchema: jsonSchema<{ city: string }>({
      type: "object",
      properties: { city: { type: "string" } },
      required: ["city"],
      additionalProperties: false
    }),
    execute: async ({ city }) => ({ weather: `rain in ${city}` })
  })
}

/** Makes the sandbox call the tool twice at once. */
export const two = '[sandbox: tool=get_weather args={"city":"Oslo"}] [sandbox: tool=get_weather args={"city":"Rome"}]'

export const trip = Output.object({
  schema: jsonSchema<{ city: string; days: number }>({
    type: "object",
    properties: { city: { type: "string" }, days: { type: "integer" } },
    required: ["city", "days"],
    additionalProperties: false
  })
})
