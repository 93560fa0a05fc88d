import { type MemoryBudget, RequestRecord } from "../../src/http/RequestRecord.ts"

/** The record of a request of which nothing is known. */
export const emptyRecord = (surface?: RequestRecord["surface"], memory?: MemoryBudget): RequestRecord =>
  new RequestRecord({ id: "", startedAt: 0, method: "", path: "", source: undefined, surface }, memory)
