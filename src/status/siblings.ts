/** The states of all processes that share a port (`GATEWAY_WORKERS`): each asks the others through the first process. */
import cluster from "node:cluster"
import { Effect, type Scope } from "effect"
import type { ProcessState } from "./processState.ts"

interface Question {
  readonly statusQuestion: number
  /** The asking worker's number in the cluster; the first process adds it. */
  readonly from?: number
}
interface Answer {
  readonly statusAnswer: number
  readonly to: number
  /** How many were asked; the first process adds it. */
  readonly of?: number
  readonly state: ProcessState
}
const isQuestion = (message: unknown): message is Question =>
  typeof message === "object" && message !== null && "statusQuestion" in message
const isAnswer = (message: unknown): message is Answer =>
  typeof message === "object" && message !== null && "statusAnswer" in message

const others = (id: number) => Object.values(cluster.workers ?? {}).filter((worker) => worker?.id !== id)

/** In the first process: passes questions and answers on, as long as the scope lives. */
export const relayStates: Effect.Effect<void, never, Scope.Scope> = Effect.asVoid(
  Effect.acquireRelease(
    Effect.sync(() => {
      const pass = ({ id }: { readonly id: number }, message: unknown) => {
        if (isQuestion(message)) {
          for (const worker of others(id)) worker?.send({ ...message, from: id })
        } else if (isAnswer(message)) {
          cluster.workers?.[message.to]?.send({ ...message, of: others(message.to).length })
        }
      }
      cluster.on("message", pass)
      return pass
    }),
    (pass) => Effect.sync(() => void cluster.off("message", pass))
  )
)

/** A process that does not answer in time is left out, in milliseconds. */
const patience = 500

/** In a worker: answers the others, and asks them. A single process asks nobody. */
export const makeSiblings = (own: () => ProcessState) =>
  Effect.gen(function* () {
    if (!cluster.isWorker) return Effect.succeed<ReadonlyArray<ProcessState>>([])
    let last = 0
    const waiting = new Map<number, (answer: Answer) => void>()
    const hear = (message: unknown) => {
      if (isQuestion(message)) {
        process.send?.({ statusAnswer: message.statusQuestion, to: message.from ?? 0, state: own() } satisfies Answer)
      } else if (isAnswer(message)) waiting.get(message.statusAnswer)?.(message)
    }
    yield* Effect.acquireRelease(
      Effect.sync(() => process.on("message", hear)),
      () => Effect.sync(() => void process.off("message", hear))
    )
    return Effect.callback<ReadonlyArray<ProcessState>>((resume) => {
      const question = ++last
      const states: Array<ProcessState> = []
      const end = () => {
        clearTimeout(timer)
        waiting.delete(question)
        resume(Effect.succeed(states))
      }
      const timer = setTimeout(end, patience)
      waiting.set(question, ({ of = 0, state }) => {
        states.push(state)
        if (states.length >= of) end()
      })
      process.send?.({ statusQuestion: question } satisfies Question)
      return Effect.sync(() => {
        clearTimeout(timer)
        waiting.delete(question)
      })
    })
  })
