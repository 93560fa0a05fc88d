/** A process that spends: holds and settles 1 of account `a`, prints a line for each, and leaves one hold of 500 open. */
import { Duration, Effect } from "effect"
import { Ledger } from "../../src/limits/Ledger.ts"
import { layerFile } from "../../src/limits/sqliteStore.ts"

const [directory = "", times = "0"] = process.argv.slice(2)
const account = { name: "a", keep: Duration.days(1) }
const hold = (amount: number) => ({
  id: crypto.randomUUID(),
  demands: [{ account, amount, least: amount, limit: 10_000 }],
  lease: Duration.hours(1)
})

const program = Effect.gen(function* () {
  const ledger = yield* Ledger
  yield* ledger.hold(hold(500))
  for (let n = 1; n <= Number(times); n++) {
    const one = hold(1)
    const { granted } = yield* ledger.hold(one)
    if (!granted) break
    yield* ledger.settle(one.id, [{ account, amount: 1 }])
    process.stdout.write(`${n}\n`)
    if (n % 50 === 0) yield* Effect.yieldNow
  }
})
await Effect.runPromise(Effect.provide(program, layerFile(directory)))
