/** The table of metrics of docs/operation.md. */
import { spans, tableOf } from "./readme.ts"

/** Labels of everything that is counted of upstream calls. */
const calls = [
  ...["gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model"],
  ...["server.address", "server.port", "gateway.level", "gateway.sandbox"]
]

export const documentedMetrics: ReadonlyMap<
  string,
  { readonly kind: string; readonly unit: string; readonly labels: ReadonlyArray<string> }
> = new Map(
  tableOf("docs/operation.md", "Metrics", "Metric").map(([name = "", what = "", labels = ""]) => {
    const [kind = "", unit = ""] = what.split(", ")
    return [
      spans(name)[0] ?? "",
      { kind, unit, labels: [...spans(labels), ...(labels.startsWith("calls") ? calls : [])] }
    ]
  })
)
