/** `doctor`: what is wrong with this configuration, and how to fix it (docs/operation.md#doctor). */
import { Effect } from "effect"
import { Command } from "effect/cli"
import { environment } from "../../Settings.ts"
import { Reported } from "../../wire/OperatorError.ts"
import { passed, reportJson, reportText } from "../doctor/Finding.ts"
import { jsonFlag, onFlag, print } from "./shared.ts"

export const doctorCommand = Command.make(
  "doctor",
  {
    live: onFlag("live", "ask each deployment for one token, and each guard, too; it costs that much"),
    json: jsonFlag,
    evidence: onFlag("evidence", "print what is in force as JSON, for an assessor; it holds no secret")
  },
  Effect.fnUntraced(function* ({ evidence: wanted, live, json }) {
    if (wanted) {
      const { evidence } = yield* Effect.promise(() => import("../doctor/evidence.ts"))
      return yield* print(JSON.stringify(yield* evidence(environment()), null, 2))
    }
    // The checks load half of the gateway, which the other commands do not need.
    const { examine } = yield* Effect.promise(() => import("../doctor/examine.ts"))
    const findings = yield* examine(environment(), live)
    yield* print(json ? reportJson(findings) : reportText(findings))
    if (!passed(findings)) return yield* new Reported({ message: "a check failed" })
  })
).pipe(Command.withDescription("Check this configuration, and say how to fix it; exits with 1 when a check fails"))
