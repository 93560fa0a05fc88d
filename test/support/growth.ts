/** How much longer something takes when it has four times as much to do. */
import { setImmediate as nextTurn } from "node:timers/promises"
import { Effect, type Exit } from "effect"
import { slowness } from "./slowness.ts"

/** Runs a step of some name, and answers what it does. */
export type Step = <A>(name: string, run: () => A) => A

/** Runs an effect; each turn of the event loop is a step. */
export type Turns = <A, E>(name: string, effect: Effect.Effect<A, E>) => Promise<Exit.Exit<A, E>>

/** Does something of a size, in steps. */
export type Work = (step: Step, turns: Turns) => void | Promise<void>

const processorTime = (): number => {
  const { system, user } = process.threadCpuUsage()
  return (user + system) / 1000
}

interface Taken {
  /** Of all steps of a name, in milliseconds of the thread's processor time. */
  all: number
  longest: number
}

const measured = async (work: Work, times = 1): Promise<ReadonlyMap<string, Taken>> => {
  const taken = new Map<string, Taken>()
  const count = (name: string, before: number) => {
    const time = processorTime() - before
    const known = taken.get(name)
    taken.set(name, { all: (known?.all ?? 0) + time, longest: Math.max(known?.longest ?? 0, time) })
  }
  const step: Step = (name, run) => {
    const before = processorTime()
    const result = run()
    count(name, before)
    return result
  }
  const turns: Turns = async (name, effect) => {
    const fiber = step(name, () => Effect.runFork(effect))
    for (let exit = fiber.pollUnsafe(); ; exit = fiber.pollUnsafe()) {
      if (exit !== undefined) return exit
      const before = processorTime()
      await nextTurn()
      count(name, before)
    }
  }
  for (let time = 0; time < times; time++) await work(step, turns)
  return taken
}

/** The least of each: other processes on the machine lengthen some runs. */
const least = (one: ReadonlyMap<string, Taken>, other: ReadonlyMap<string, Taken>): ReadonlyMap<string, Taken> =>
  new Map(
    [...one].map(([name, { all, longest }]) => {
      const again = other.get(name) ?? { all, longest }
      return [name, { all: Math.min(all, again.all), longest: Math.min(longest, again.longest) }]
    })
  )

/** What is less is noise, in milliseconds: the system counts processor time in ticks, of four milliseconds on some machines. */
const measurable = 6
/** So many times as long as four of a quarter the size one may take: a quadratic step takes 4, a linear one beside other tests up to 1.8. */
const most = 2.25
/** The longest that other requests may be held up at the first size, in milliseconds. */
const longestStep = 50
const rounds = 8

/** What is wrong with steps, by their names; measured again while something looks wrong, because only what is so each time is so. */
const wrongAt = async (
  work: (size: number) => Work,
  size: number,
  longestStep: number
): Promise<ReadonlyMap<string, string>> => {
  const large = work(4 * size)
  let taken = await measured(large)
  if ([...taken.values()].every(({ all }) => all < most * measurable)) return new Map()
  const small = work(size)
  let before = await measured(small, 4)
  let slow = slowness()
  const wrong = () =>
    new Map(
      [...taken].flatMap(([name, { all, longest }]) => {
        const ratio = all / Math.max(measurable, before.get(name)?.all ?? 0)
        if (ratio > most) return [[name, `${(4 * ratio).toFixed(1)} times as long, ${Math.round(all)} ms`]]
        return longest > slow * longestStep ? [[name, `${Math.round(longest)} ms in one step`]] : []
      })
    )
  for (let round = 1; round < rounds && wrong().size > 0; round++) {
    taken = least(taken, await measured(large))
    before = least(before, await measured(small, 4))
    slow = Math.min(slow, slowness())
  }
  return wrong()
}

/**
 * What is wrong with steps of which one has four times as much to do: those that take far more than four times as long, and those that
 * hold up other requests. It must be so at twice the size, too: objects of many names cost more each until V8 changes their form.
 */
export const superlinear = async (work: (size: number) => Work, size: number): Promise<ReadonlyArray<string>> => {
  const wrong = await wrongAt(work, size, longestStep)
  const stillWrong = wrong.size === 0 ? wrong : await wrongAt(work, 2 * size, 2 * longestStep)
  return [...stillWrong].flatMap(([name, problem]) => (wrong.has(name) ? [`${name}: ${problem}`] : []))
}
