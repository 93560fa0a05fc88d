/** Draws what the gateway sends: text nodes and small plots, no markup made of data. */

const byId = (id) => document.getElementById(id)

const make = (name, attributes = {}, ...children) => {
  const element = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value)
  element.append(...children)
  return element
}
const draw = (name, attributes, ...children) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name)
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value)
  element.append(...children)
  return element
}

const count = new Intl.NumberFormat("en").format
const clock = (time) =>
  new Date(time).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false })
const day = (time) => new Date(time).toISOString().slice(0, 10)
const moment = (time) => `${day(time)} ${new Date(time).toISOString().slice(11, 19)} UTC`
const duration = (ms) => {
  if (ms === undefined) return "-"
  if (ms < 1000) return `${ms} ms`
  return ms < 100_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 60_000)} min`
}
const ago = (ms) => {
  if (ms < 90_000) return `${Math.max(0, Math.round(ms / 1000))} s ago`
  return ms < 5_400_000 ? `${Math.round(ms / 60_000)} min ago` : `${Math.round(ms / 3_600_000)} h ago`
}
const lasting = (ms) => (ms < 5_400_000 ? `${Math.round(ms / 60_000)} min` : `${Math.round(ms / 3_600_000)} h`)

const width = 120
const height = 27
const plot = (label, ...shapes) =>
  draw(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label, preserveAspectRatio: "none" },
    draw("line", { class: "base", x1: 0, x2: width, y1: height - 0.5, y2: height - 0.5 }),
    ...shapes
  )

/** Requests of each minute, those that failed in another colour below. */
const bars = (label, requests, failures) => {
  const most = Math.max(1, ...requests)
  const step = width / requests.length
  const bar = (at, from, to, kind) =>
    draw("rect", {
      class: kind,
      x: at * step + 0.2,
      width: step - 0.4,
      y: height - (to / most) * height,
      height: ((to - from) / most) * height
    })
  return plot(
    label,
    ...requests.flatMap((all, at) => {
      if (all === 0) return []
      const wrong = failures[at]
      return [bar(at, wrong, all, "bar"), ...(wrong > 0 ? [bar(at, 0, wrong, "wrong")] : [])]
    })
  )
}

/** Lines over the minutes, on one scale; a minute without a value is a gap, and a lone one a short stroke. */
const lines = (label, ...series) => {
  const most = Math.max(1, ...series.flatMap(({ values }) => values.map((value) => value ?? 0)))
  const step = width / series[0].values.length
  return plot(
    label,
    ...series.map(({ kind, values }) => {
      let path = ""
      for (const [at, value] of values.entries()) {
        if (value === null) continue
        const y = (height - 1 - (value / most) * (height - 3)).toFixed(1)
        const begins = at === 0 || values[at - 1] === null
        path += `${begins ? "M" : "L"}${(at * step).toFixed(1)} ${y}L${((at + 1) * step).toFixed(1)} ${y}`
      }
      return draw("path", { class: kind, d: path })
    })
  )
}

/** Rows are replaced only where what they show has changed, so that what is being read or selected stays. */
const keep = (body, rows) => {
  rows.forEach(({ cells, idle, state }, at) => {
    const shown = JSON.stringify(state)
    const before = body.children[at]
    if (before !== undefined && before.dataset.shown === shown) return
    const row = make("tr", idle ? { class: "idle" } : {}, ...cells())
    row.dataset.shown = shown
    if (before === undefined) body.append(row)
    else before.replaceWith(row)
  })
  while (body.children.length > rows.length) body.lastElementChild.remove()
}
const nothing = (columns, text) => ({
  state: text,
  cells: () => [make("td", { colspan: columns, class: "soft" }, text)]
})
const orNothing = (rows, columns, text) => (rows.length > 0 ? rows : [nothing(columns, text)])

const deploymentRow = (now, prefix) => (one) => {
  const { cloud, hour, lastError, levels, model, open, region } = one
  const { failures, first50, first95, minutes, p50, p95, requests } = hour
  const error = lastError && `${lastError.code}, ${ago(now - lastError.at)}`
  return {
    state: [one, error],
    idle: requests === 0,
    cells: () => [
      make(
        "th",
        { scope: "row" },
        model,
        make("div", { class: "soft" }, `${prefix}${cloud}/${region}`),
        make("div", { class: "soft" }, levels.length === 0 ? "not in the catalog" : levels.join(" "))
      ),
      make("td", {}, open ? make("span", { class: "bad" }, "open") : "closed"),
      make(
        "td",
        {},
        count(requests),
        ...(failures > 0 ? [make("span", { class: "bad" }, ` ${count(failures)} failed`)] : []),
        ...(minutes
          ? [bars(`${count(requests)} requests, ${count(failures)} failed`, minutes.requests, minutes.failures)]
          : [])
      ),
      make(
        "td",
        { class: "times" },
        p50 === undefined ? "-" : `p50 ${duration(p50)}, p95 ${duration(p95)}`,
        ...(p50 === undefined
          ? []
          : [
              lines(
                `duration: p50 ${duration(p50)}, p95 ${duration(p95)}`,
                { kind: "above", values: minutes.p95 },
                { kind: "line", values: minutes.p50 }
              )
            ])
      ),
      make(
        "td",
        { class: "times" },
        first50 === undefined ? "-" : `p50 ${duration(first50)}, p95 ${duration(first95)}`,
        ...(first50 === undefined
          ? []
          : [lines(`time to first token: p50 ${duration(first50)}`, { kind: "line", values: minutes.first50 })])
      ),
      make(
        "td",
        {},
        ...(lastError
          ? [lastError.code, make("div", { class: "soft" }, `${ago(now - lastError.at)}, status ${lastError.status}`)]
          : ["-"])
      )
    ]
  }
}

const money = new Intl.NumberFormat("en", { maximumFractionDigits: 2 }).format
/** A use against its limit, with a bar where there is one. */
const against = (name, used, limit, format) => {
  if (used === null) return ["not known"]
  if (limit === undefined) return [format(used)]
  const percent = limit === 0 ? 100 : Math.round((100 * used) / limit)
  return [
    `${format(used)} of ${format(limit)}`,
    make(
      "div",
      {},
      make("meter", {
        min: 0,
        max: Math.max(limit, 1),
        high: limit * 0.9,
        optimum: 0,
        value: Math.min(used, limit),
        "aria-label": `${name}: ${percent} percent`
      }),
      ` ${percent} %`
    )
  ]
}
const useRow = (one) => {
  const { cost, costLimit, id, kind, limit, name, used } = one
  return {
    state: one,
    cells: () => [
      make("th", { scope: "row" }, name, make("div", { class: "soft" }, kind === "team" ? "team" : `key ${id}`)),
      make("td", { class: "number" }, ...against(`${name}, tokens`, used, limit, count)),
      make(
        "td",
        { class: "number" },
        ...(cost === undefined ? ["-"] : against(`${name}, cost`, cost, costLimit, money))
      )
    ]
  }
}
const countRow = ({ count: number, name }) => ({
  state: [name, number],
  cells: () => [make("th", { scope: "row" }, name), make("td", { class: "number" }, count(number))]
})
const setupRow = ([name, value]) => ({
  state: [name, value],
  cells: () => [make("th", { scope: "row" }, name), make("td", {}, value)]
})

const soonMs = 30 * 86_400_000
const alertsOf = ({ deployments, lostStores, now, setup }) => [
  ...new Set([
    ...deployments
      .filter(({ open }) => open)
      .map(({ cloud, region }) => `The breaker of ${cloud}/${region} is open: it has been failing.`),
    ...lostStores.map((use) => `The store of limits and quotas is lost (${use}).`),
    ...(setup.tlsUntil === null ? ["The TLS certificate cannot be read."] : []),
    ...(typeof setup.tlsUntil === "number" && setup.tlsUntil - now < soonMs
      ? [`The TLS certificate ${setup.tlsUntil < now ? "expired" : "expires"} on ${day(setup.tlsUntil)}.`]
      : [])
  ])
]

const setupRows = ({ processes, setup }) => [
  ["Version", setup.version],
  ["Catalog", `${setup.catalog.source}: ${setup.catalog.ids} model IDs, since ${moment(setup.catalog.since)}`],
  ["Keys", `${setup.keys.source}: ${setup.keys.count} keys, since ${moment(setup.keys.since)}`],
  ["Limits counted in", setup.store],
  ["FIPS provider", setup.fips ? "on" : "off"],
  [
    "TLS certificate",
    setup.tlsUntil === undefined
      ? "none: TLS is off"
      : setup.tlsUntil === null
        ? "cannot be read"
        : `until ${moment(setup.tlsUntil)}`
  ],
  ...processes.map(({ host, memory, pid, startedAt }) => [
    `${host} ${pid}`,
    `since ${moment(startedAt)}, ${Math.round(memory / 1048576)} MiB`
  ])
]

let view
const show = () => {
  if (view === undefined) return
  const { deployments, flags, now, processes, refusals, requestsInFlight, setup, streamsInFlight, use } = view
  const sum = (of) => deployments.reduce((total, one) => total + of(one), 0)
  const oldest = Math.min(...processes.map(({ startedAt }) => startedAt))
  byId("about").textContent =
    `Version ${setup.version}${setup.sandbox ? ", sandbox: simulated clouds" : ""}, ${processes.length} ${processes.length === 1 ? "process" : "processes"}, running for ${lasting(now - oldest)}`
  const tiles = [
    ["Requests in flight", requestsInFlight],
    ["Streams in flight", streamsInFlight],
    ["Requests, last hour", sum(({ hour }) => hour.requests)],
    ["Failed, last hour", sum(({ hour }) => hour.failures)],
    ["Refused", refusals.reduce((total, one) => total + one.count, 0)],
    ["Flagged calls", flags.reduce((total, one) => total + one.count, 0)]
  ]
  byId("tiles").replaceChildren(
    ...tiles.map(([name, number]) => make("div", {}, make("dt", {}, name), make("dd", {}, count(number))))
  )
  const alerts = alertsOf(view)
  if (byId("alerts").dataset.shown !== JSON.stringify(alerts)) {
    byId("alerts").dataset.shown = JSON.stringify(alerts)
    byId("alerts").replaceChildren(...alerts.map((text) => make("p", { class: "alert" }, text)))
  }
  const shown = byId("busy").checked ? deployments.filter(({ hour }) => hour.requests > 0) : deployments
  const row = deploymentRow(now, setup.sandbox ? "sandbox-" : "")
  keep(byId("rows"), orNothing(shown.map(row), 6, "No deployment had a request in the last hour."))
  keep(byId("use"), orNothing(use.map(useRow), 3, "No key was used or has a monthly limit."))
  keep(byId("refusals"), orNothing(refusals.map(countRow), 2, "None."))
  keep(byId("flags"), orNothing(flags.map(countRow), 2, "None."))
  keep(byId("setup"), setupRows(view).map(setupRow))
}

// What can be scrolled must be reached by the keyboard.
byId("deployments").tabIndex = 0
byId("busy").addEventListener("change", show)

const live = byId("live")
const source = new EventSource("/events")
source.addEventListener("message", ({ data }) => {
  view = JSON.parse(data)
  live.textContent = `live, ${clock(view.now)}`
  live.className = "pill good"
  show()
})
source.addEventListener("error", () => {
  live.textContent = view === undefined ? "not connected" : `lost since ${clock(view.now)}; trying again`
  live.className = "pill bad"
})
