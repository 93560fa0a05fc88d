/** `doctor`: what is wrong with this configuration, and how to fix it (docs/operation.md#doctor). */
import { Console, Effect, Runtime, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import { isWell, reportJson, reportText } from "../doctor/report.ts"
import { applyProxyRule } from "../proxy.ts"
import { environment } from "../Settings.ts"
import { explainSetting } from "./explainSetting.ts"

/** What is wrong has been printed. */
class Unwell extends Schema.TaggedError<Unwell>()("Unwell", { message: Schema.String }) {
  override readonly [Runtime.errorReported] = false
}

export const doctorCommand = Command.make(
  "doctor",
  {
    live: Flag.Boolean("live").pipe(
      Flag.withDescription("ask each deployment for one token, too; it costs that much"),
      Flag.withDefault(false)
    ),
    json: Flag.Boolean("json").pipe(Flag.withDescription("print JSON"), Flag.withDefault(false))
  },
  Effect.fnUntraced(function* ({ live, json }) {
    // The checks load half of the gateway, which the other commands do not need.
    const { examine } = yield* Effect.promise(() => import("../doctor/examine.ts"))
    const findings = yield* examine({
      environment: environment(),
      live,
      apply: applyProxyRule,
      explain: explainSetting
    })
    yield* Console.log(json ? reportJson(findings) : reportText(findings))
    if (!isWell(findings)) return yield* new Unwell({ message: "something is wrong" })
  })
).pipe(Command.withDescription("Say what is wrong with this configuration, and how to mend it; exits with 1 then"))
