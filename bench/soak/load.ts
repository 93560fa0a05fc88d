/** The load generator of the soak, a process of its own. */
import { type RequestsJob, sendRequests } from "./requests.ts"
import { readSlowly, type SlowJob } from "./slowReaders.ts"
import { readStreams, type StreamsJob } from "./streams.ts"

const perform = (job: StreamsJob | SlowJob | RequestsJob) =>
  job.kind === "streams" ? readStreams(job) : job.kind === "slow" ? readSlowly(job) : sendRequests(job)

process.on("disconnect", () => process.exit(0))
process.on("message", async (job: StreamsJob | SlowJob | RequestsJob) => process.send?.(await perform(job)))
process.send?.({})
