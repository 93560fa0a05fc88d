import {
  type Collector,
  collectArguments,
  collectValue,
  type Found,
  makeCollector,
  type ScanMode
} from "../../src/governance/scan.ts"
import { runNow, type Slices } from "../../src/wire/slices.ts"

const foundBy = (scan: (collector: Collector) => Slices<void>): Found => {
  const collector = makeCollector()
  runNow(scan(collector))
  return collector.found()
}

/** The destinations in a call's arguments, in one step. */
export const scanArguments = (json: string, mode: ScanMode = "spec"): Found =>
  foundBy((collector) => collectArguments(json, mode, collector))

/** The destinations in parsed input, in one step. */
export const scanValue = (value: unknown, mode: ScanMode = "spec"): Found =>
  foundBy((collector) => collectValue(value, mode, collector))
