/**
 * `npm run bench -- --against DIR`: gateways of this checkout and of another, and bare proxies, two processes of each, share the
 * machine and a scenario's callers, so that what disturbs one disturbs all. Processor time is compared: a difference of two in a
 * hundred shows within minutes, where subjects that take turns need an hour.
 */
import { join } from "node:path"
import { end, start } from "./processes.ts"
import { mean, median } from "./quantiles.ts"
import { type Scenario, type Subject, spanOf } from "./scenarios.ts"
import { makeSubjects, probe, round, startCloud, warmUp } from "./subjects.ts"
import { number, table } from "./table.ts"

const here = join(import.meta.dirname, "..")

const startAll = async (other: string, copies: number) => {
  const cloud = await startCloud()
  const add = async (name: string, checkout: string, subject: Subject) => {
    const running = await makeSubjects(cloud, checkout).begin(subject)
    return { name, subject, running, bench: { cloud, load: (await start("load.ts")).child } }
  }
  const all: Array<Awaited<ReturnType<typeof add>>> = []
  for (let i = 0; i < copies; i++) {
    all.push(await add("this checkout", here, "gateway"), await add(other, other, "gateway"))
    all.push(await add("bare proxy", here, "proxy"))
  }
  return { cloud, all }
}

export const compareCheckouts = async (other: string, scenarios: ReadonlyArray<Scenario>, quick: boolean) => {
  const { all, cloud } = await startAll(other, quick ? 1 : 2)
  const names = [...new Set(all.map(({ name }) => name))]
  for (const scenario of scenarios) {
    for (const { bench, running, subject } of all) {
      await cloud.pace(scenario.pace)
      await probe(scenario, subject, running)
      await warmUp(bench, scenario, subject, running, quick ? 150 : 9_000)
    }
    const length = {
      callers: Math.ceil(scenario.callers / all.length),
      warm: Math.max(100, spanOf(scenario)),
      measure: quick ? 300 : 3_000
    }
    const times = new Map(names.map((name) => [name, [] as Array<number>]))
    for (let i = 0; i < (quick ? 2 : 16); i++) {
      const samples = await Promise.all(
        all.map(({ bench, running, subject }) => round(bench, scenario, subject, running, length))
      )
      for (const [name, own] of times) own.push(mean(samples.filter((_, n) => all[n]?.name === name).map((s) => s.cpu)))
    }
    const [base = []] = times.values()
    const rows = [...times].map(([name, own]) => {
      const shares = own.map((time, i) => time / (base[i] ?? Number.NaN))
      const deviation = Math.sqrt(mean(shares.map((share) => (share - mean(shares)) ** 2)))
      const error = deviation / Math.sqrt(shares.length - 1)
      return [name, number(median(own), 1), number(mean(shares), 3), number(error, 3)]
    })
    process.stdout.write(`${table([scenario.name, "CPU µs", "× this checkout", "standard error"], rows)}\n\n`)
  }
  await end(cloud.child, ...all.flatMap(({ bench, running }) => [bench.load, running.child]))
}
