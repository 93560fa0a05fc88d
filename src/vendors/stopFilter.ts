/** Where a text ends before a stop sequence (docs/decisions.md#stop-sequences). */
import { getOrInsert } from "../wire/getOrInsert.ts"
import type { TextFilter } from "./textFilters.ts"

/** What a state takes, in bytes. */
const heldPerState = 19

/**
 * All sequences as one automaton (Aho and Corasick), whose state is the longest beginning of a sequence with which the text so far ends:
 * a text takes a step a character, however many sequences there are. Looking for each of them by itself takes minutes for some.
 */
const automatonOf = (sequences: ReadonlyArray<string>) => {
  const most = sequences.reduce((sum, { length }) => sum + length, 1)
  // Of each state: its last character, the state before that, its length, that of the longest sequence it ends with, and the longest other
  // state it ends with.
  const units = new Uint16Array(most + 1)
  const before = new Int32Array(most + 1)
  const lengths = new Int32Array(most)
  const ended = new Int32Array(most)
  const shorter = new Int32Array(most)
  /** Where a sequence leaves another: the states after a state that do not follow it, by their characters. */
  const branches = new Map<number, Map<number, number>>()
  const isBranch = new Uint8Array(most)
  const longer = (state: number, unit: number): number | undefined => {
    if (before[state + 1] === state && units[state + 1] === unit) return state + 1
    return isBranch[state] === 1 ? branches.get(state)?.get(unit) : undefined
  }
  const step = (from: number, unit: number): number => {
    for (let state = from; ; state = shorter[state] ?? 0) {
      const next = longer(state, unit)
      if (next !== undefined || state === 0) return next ?? 0
    }
  }

  const byLength: Array<Array<number>> = []
  let last = 0
  for (const sequence of sequences) {
    let state = 0
    for (let at = 0; at < sequence.length; at++) {
      const unit = sequence.charCodeAt(at)
      const known = longer(state, unit)
      if (known === undefined) {
        last++
        if (last !== state + 1) {
          isBranch[state] = 1
          getOrInsert(branches, state, () => new Map<number, number>()).set(unit, last)
        }
        units[last] = unit
        before[last] = state
        lengths[last] = at + 1
        byLength[at] ??= []
        byLength[at]?.push(last)
      }
      state = known ?? last
    }
    ended[state] = sequence.length
  }
  for (const states of byLength) {
    for (const state of states) {
      const parent = before[state] ?? 0
      if (parent !== 0) shorter[state] = step(shorter[parent] ?? 0, units[state] ?? 0)
      ended[state] ||= ended[shorter[state] ?? 0] ?? 0
    }
  }
  return {
    step,
    lengthOf: (state: number): number => lengths[state] ?? 0,
    /** The length of the longest sequence that a state ends with; 0 where there is none. */
    endedIn: (state: number): number => ended[state] ?? 0,
    held: heldPerState * most
  }
}

/**
 * Ends a text before the sequence that is complete first, of two the longer, so that it makes no difference how the text is split. At most
 * the beginning of a sequence is held back. None of the sequences is empty. `stopped`: a sequence has come, and nothing is shown after it.
 * `held`: memory that it takes, in bytes, about.
 */
export const stopFilter = (
  sequences: ReadonlyArray<string>
): TextFilter & { readonly stopped: () => boolean; readonly held: number } => {
  const { endedIn, held: size, lengthOf, step } = automatonOf(sequences)
  let state = 0
  let held = ""
  let stopped = false
  return {
    push: (text) => {
      if (stopped) return ""
      let at = 0
      while (at < text.length && !stopped) {
        state = step(state, text.charCodeAt(at++))
        stopped = endedIn(state) > 0
      }
      const rest = held + text.slice(0, at)
      const shown = rest.length - (stopped ? endedIn(state) : lengthOf(state))
      held = stopped ? "" : rest.slice(shown)
      return rest.slice(0, shown)
    },
    end: () => {
      const rest = held
      held = ""
      state = 0
      return rest
    },
    stopped: () => stopped,
    held: size
  }
}
