/** How much longer something takes when it has four times as much to do. */

/** Runs a step of some name, and answers what it does. */
export type Step = <A>(name: string, run: () => A) => A

/** Does something of a size, in steps. */
export type Work = (step: Step) => void

const processorTime = (): number => {
  const { system, user } = process.threadCpuUsage()
  return (user + system) / 1000
}

interface Taken {
  /** Of all steps of a name, in milliseconds of the thread's processor time. */
  all: number
  longest: number
}

const measured = (work: Work): ReadonlyMap<string, Taken> => {
  const taken = new Map<string, Taken>()
  work((name, run) => {
    const before = processorTime()
    const result = run()
    const time = processorTime() - before
    const known = taken.get(name)
    taken.set(name, { all: (known?.all ?? 0) + time, longest: Math.max(known?.longest ?? 0, time) })
    return result
  })
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
/** The longest that other requests may be held up, in milliseconds. */
const longestStep = 50
const rounds = 6

/** Measured again while something looks wrong, because only what is so each time is so. */
const wrongAt = (work: (size: number) => Work, size: number): ReadonlyArray<string> => {
  const [small, large] = [work(size), work(4 * size)]
  let taken = measured(large)
  if ([...taken.values()].every(({ all }) => all < most * measurable)) return []
  let before = measured(small)
  const wrong = () =>
    [...taken].flatMap(([name, { all, longest }]) => {
      const ratio = all / Math.max(measurable, before.get(name)?.all ?? 0)
      return [
        ...(ratio > most ? [`${name}: ${ratio.toFixed(1)} times as long, ${Math.round(all)} ms`] : []),
        ...(longest > longestStep ? [`${name}: ${Math.round(longest)} ms in one step`] : [])
      ]
    })
  for (let round = 1; round < rounds && wrong().length > 0; round++) {
    taken = least(taken, measured(large))
    before = least(before, measured(small))
  }
  return wrong()
}

/**
 * What is wrong with steps of which one has four times as much to do: those that take far more than four times as long, and those that
 * hold up other requests. It must be so at twice the size, too: objects of many names cost more each until V8 changes their form.
 */
export const superlinear = (work: (size: number) => Work, size: number): ReadonlyArray<string> =>
  wrongAt(work, size).length === 0 ? [] : wrongAt(work, 2 * size)
