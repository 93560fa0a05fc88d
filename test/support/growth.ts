/** How much longer something takes when it has four times as much to do. */
import { setImmediate as nextTurn } from "node:timers/promises"
import { Effect, type Exit } from "effect"

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

const measured = async (work: Work): Promise<ReadonlyMap<string, Taken>> => {
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
  await work(step, turns)
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

/** What is less is noise. */
const measurable = 2
/** Four times as much may take so many times as long: a quadratic step takes 16, and a linear one beside other tests up to 7.3. */
const most = 9
/** The longest that other requests may be held up at the first size, in milliseconds. */
const longestStep = 50
const rounds = 6

/** Measured again while something looks wrong, because only what is so each time is so. */
const wrongAt = async (
  work: (size: number) => Work,
  size: number,
  longestStep: number
): Promise<ReadonlyArray<string>> => {
  const [small, large] = [work(size), work(4 * size)]
  let taken = await measured(large)
  if ([...taken.values()].every(({ all }) => all < most * measurable)) return []
  let before = await measured(small)
  const wrong = () =>
    [...taken].flatMap(([name, { all, longest }]) => {
      const ratio = all / Math.max(measurable, before.get(name)?.all ?? 0)
      return [
        ...(ratio > most ? [`${name}: ${ratio.toFixed(1)} times as long, ${Math.round(all)} ms`] : []),
        ...(longest > longestStep ? [`${name}: ${Math.round(longest)} ms in one step`] : [])
      ]
    })
  for (let round = 1; round < rounds && wrong().length > 0; round++) {
    taken = least(taken, await measured(large))
    before = least(before, await measured(small))
  }
  return wrong()
}

/**
 * What is wrong with steps of which one has four times as much to do: those that take far more than four times as long, and those that
 * hold up other requests. It must be so at twice the size, too: objects of many names cost more each until V8 changes their form.
 */
export const superlinear = async (work: (size: number) => Work, size: number): Promise<ReadonlyArray<string>> =>
  (await wrongAt(work, size, longestStep)).length === 0 ? [] : wrongAt(work, 2 * size, 2 * longestStep)
