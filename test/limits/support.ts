import { assert } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import { TestClock } from "effect/testing"
import type { CallerIdentity } from "../../src/contract/Security.ts"
import { readBook } from "../../src/limits/KeyFile.ts"
import { Quota } from "../../src/limits/Quota.ts"

/** A caller with these limits. Its ID is new, so that tests which share a store do not meet. */
export const callerWith = <L extends Partial<CallerIdentity>>(limits: L): CallerIdentity & L => ({
  id: `key_${crypto.randomUUID().slice(0, 8)}`,
  name: "test",
  ...limits
})

/** Tokens charged to a caller this month. */
export const usedBy = (caller: CallerIdentity) =>
  Effect.flatMap(Quota, ({ usageTotals }) =>
    Effect.map(usageTotals({ keys: [caller], teams: [] }), ({ keys: [one] }) => one?.monthlyTokens)
  )

/** A request that takes so many tokens or none. */
export const whole = (tokens: number) => ({ input: tokens, output: 0 })

/** A key file's path in a directory of its own. */
export const keyFile = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  return `${yield* fs.makeTempDirectoryScoped()}/keys.json`
})

/** The secret that a command printed. */
export const secretIn = (text: string): string => /^ {2}(gmg_\S+)$/m.exec(text)?.[1] ?? ""

/** The one key of a file. */
export const only = Effect.fnUntraced(function* (file: string) {
  const { keys } = yield* readBook(file)
  const [key] = keys
  if (key === undefined || keys.length > 1) return assert.fail(`${keys.length} keys`)
  return key
})

/** Lets polls run until `condition` holds; the file reads in them end in real time. */
export const eventually = <E, R>(condition: Effect.Effect<boolean, E, R>) =>
  TestClock.adjust("1 second").pipe(
    Effect.andThen(TestClock.withLive(Effect.sleep("10 millis"))),
    Effect.andThen(condition),
    Effect.repeat({ until: (holds) => holds, times: 500 }),
    Effect.map((holds) => assert.isTrue(holds))
  )
