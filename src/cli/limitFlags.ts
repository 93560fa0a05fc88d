/** The flags of limits, which keys and teams share. */
import { Option } from "effect"
import { Flag } from "effect/cli"
import type { LimitOptions } from "../access/keyOptions.ts"

const count = (name: string, description: string) =>
  Flag.Int(name).pipe(Flag.withDescription(description), Flag.optional)

export const limitFlags = {
  rpm: count("rpm", "requests a minute"),
  streams: count("streams", "streams at a time"),
  monthlyTokens: count("monthly-tokens", "tokens a calendar month (UTC)"),
  dailyTokens: count("daily-tokens", "tokens a day (UTC)")
}

type Given = { readonly [Name in keyof typeof limitFlags]: Option.Option<number> }

export const limitsGiven = ({ rpm, streams, monthlyTokens, dailyTokens }: Given): LimitOptions => ({
  rpm: Option.getOrUndefined(rpm),
  streams: Option.getOrUndefined(streams),
  monthlyTokens: Option.getOrUndefined(monthlyTokens),
  dailyTokens: Option.getOrUndefined(dailyTokens)
})

export const jsonFlag = Flag.Boolean("json").pipe(Flag.withDescription("print JSON"), Flag.withDefault(false))
