/**
 * `npm run fuzz -- [--seconds 60] [--seed N] [--only bodies,http]`: inputs that are almost right, for as long as one likes. What it
 * finds is printed with its seed and as small as it can be made; the exit code is 1. What was found becomes a test.
 */
import { parseArgs } from "node:util"
import { targets } from "./targets.ts"

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "60" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    only: { type: "string", default: "" }
  }
})
const seconds = Number(values.seconds)
let seed = Number(values.seed)
const names = values.only.split(",").filter(Boolean)
const chosen = targets.filter(({ name }) => names.length === 0 || names.includes(name))
if (!(seconds > 0) || !Number.isInteger(seed) || chosen.length === 0) {
  throw new Error(
    `usage: npm run fuzz -- [--seconds 60] [--seed N] [--only ${targets.map(({ name }) => name).join(",")}]`
  )
}

const runs = 300
let found = 0
for (const { name, run } of chosen) {
  const until = Date.now() + (seconds * 1000) / chosen.length
  let tried = 0
  const first = seed
  try {
    while (Date.now() < until) {
      await run({ seed, runs })
      tried += runs
      seed++
    }
    console.log(`${name}: ${tried} inputs, nothing found (seeds ${first} to ${seed - 1})`)
  } catch (error) {
    found++
    const { cause, message } = error instanceof Error ? error : new Error(String(error))
    console.log(`${name}: seed ${seed}\n${message}\n${cause instanceof Error ? cause.message : ""}\n`)
  }
}
process.exit(found === 0 ? 0 : 1)
