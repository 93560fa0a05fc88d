/** Draws what the gateway sends: text nodes and small plots, no markup made of data. */

const byId = (id) => document.getElementById(id)

/** Children that are false or undefined are left out. */
const filled = (element, attributes, children) => {
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value)
  element.append(...children.filter(Boolean))
  return element
}
const make = (name, attributes = {}, ...children) => filled(document.createElement(name), attributes, children)
const draw = (name, attributes, ...children) =>
  filled(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children)
const cell = (...children) => make("td", {}, ...children)
const number = (...children) => make("td", { class: "number" }, ...children)
const heading = (...children) => make("th", { scope: "row" }, ...children)
/** A cell that says on a narrow screen which column it is of. */
const named = (name, element) => filled(element, { "data-name": name }, [])
const soft = (text) => make("div", { class: "soft" }, text)
const bad = (text) => make("span", { class: "bad" }, text)

const count = new Intl.NumberFormat("en").format
const clock = (time) =>
  new Date(time).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false })
const day = (time) => new Date(time).toISOString().slice(0, 10)
const moment = (time) => `${day(time)} ${new Date(time).toISOString().slice(11, 19)} UTC`
/** A number and its unit stay on one line. */
const duration = (ms) => {
  if (ms < 1000) return `${ms}\u00a0ms`
  return ms < 100_000 ? `${(ms / 1000).toFixed(1)}\u00a0s` : `${Math.round(ms / 60_000)}\u00a0min`
}
const lasting = (ms) => (ms < 5_400_000 ? `${Math.round(ms / 60_000)} min` : `${Math.round(ms / 3_600_000)} h`)
const ago = (ms) => (ms < 90_000 ? `${Math.max(0, Math.round(ms / 1000))} s ago` : `${lasting(ms)} ago`)

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
      const wrong = failures[at]
      return [all > 0 && bar(at, wrong, all, "bar"), wrong > 0 && bar(at, 0, wrong, "wrong")]
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
const orNothing = (rows, columns, text) =>
  rows.length > 0 ? rows : [{ state: text, cells: () => [make("td", { colspan: columns, class: "soft" }, text)] }]

/** Percentiles, and a plot of them; `first` is absent where there was no request. */
const timesCell = (what, first, last, series) => {
  const times = named(what, make("td", { class: "times" }))
  if (first === undefined) return filled(times, {}, ["-"])
  const text = `p50\u00a0${duration(first)}, p95\u00a0${duration(last)}`
  return filled(times, {}, [text, lines(`${what}: ${text}`, ...series())])
}

const deploymentRow = (now, prefix) => (one) => {
  const { cloud, hour, lastError, levels, model, open, region } = one
  const { failures, first50, first95, minutes, p50, p95, requests } = hour
  const since = lastError && ago(now - lastError.at)
  return {
    state: [one, since],
    idle: requests === 0,
    cells: () => [
      heading(
        model,
        soft(`${prefix}${cloud}/${region}`),
        soft(levels.length === 0 ? "not in the catalog" : levels.join(" "))
      ),
      named("Breaker", cell(open ? bad("open") : "closed")),
      named(
        "Requests",
        cell(
          count(requests),
          failures > 0 && bad(` ${count(failures)} failed`),
          minutes && bars(`${count(requests)} requests, ${count(failures)} failed`, minutes.requests, minutes.failures)
        )
      ),
      timesCell("Duration", p50, p95, () => [
        { kind: "above", values: minutes.p95 },
        { kind: "line", values: minutes.p50 }
      ]),
      timesCell("First token", first50, first95, () => [{ kind: "line", values: minutes.first50 }]),
      named("Last error", lastError ? cell(lastError.code, soft(`${since}, status ${lastError.status}`)) : cell("-"))
    ]
  }
}

/** In the currency of the catalog's prices, which may have none. */
const moneyIn = (currency) =>
  currency === undefined
    ? count
    : new Intl.NumberFormat("en", { style: "currency", currency, currencyDisplay: "code" }).format
/** A use against its limit, with a bar where there is one. */
const against = (name, used, limit, format) => {
  if (used === null) return number("not known")
  if (limit === undefined) return number(format(used))
  const percent = limit === 0 ? 100 : Math.round((100 * used) / limit)
  const scale = { min: 0, max: Math.max(limit, 1), high: limit * 0.9, optimum: 0, value: Math.min(used, limit) }
  const meter = make("meter", { ...scale, "aria-label": `${name}: ${percent} percent` })
  return number(`${format(used)} of ${format(limit)}`, make("div", {}, meter, ` ${percent} %`))
}
const useRow = (currency) => (one) => {
  const { cost, costLimit, id, kind, limit, name, used } = one
  return {
    state: [one, currency],
    cells: () => [
      heading(name, soft(kind === "team" ? "team" : `key ${id}`)),
      against(`${name}, tokens`, used, limit, count),
      cost === undefined ? number("-") : against(`${name}, cost`, cost, costLimit, moneyIn(currency))
    ]
  }
}
const countRow = (one) => ({ state: one, cells: () => [heading(one.name), number(count(one.count))] })
const setupRow = (one) => ({ state: one, cells: () => [heading(one[0]), cell(one[1])] })

const soon = 30 * 86_400_000
const alertsOf = ({ deployments, lostStores, now, refusedFiles, setup: { tlsUntil } }) => {
  const open = deployments.filter((one) => one.open).map(({ cloud, region }) => `${cloud}/${region}`)
  const alerts = [
    ...[...new Set(open)].map((place) => `The breaker of ${place} is open: it has been failing.`),
    ...lostStores.map((use) => `The store of limits and quotas is lost (${use}).`),
    ...refusedFiles.map((kind) => `The ${kind} file is not taken: the log says why.`)
  ]
  if (tlsUntil === null) alerts.push("The TLS certificate cannot be read.")
  else if (tlsUntil - now < soon) {
    alerts.push(`The TLS certificate ${tlsUntil < now ? "expired" : "expires"} on ${day(tlsUntil)}.`)
  }
  return alerts
}

const certificate = (until) => {
  if (until === undefined) return "none: TLS is off"
  return until === null ? "cannot be read" : `until ${moment(until)}`
}
const setupRows = ({ processes, setup }) => [
  ["Version", setup.version],
  ["Catalog", `${setup.catalog.source}: ${setup.catalog.ids} model IDs, since ${moment(setup.catalog.since)}`],
  [
    "Keys",
    `${setup.keys.source}: ${setup.keys.count} ${setup.keys.count === 1 ? "key" : "keys"}, since ${moment(setup.keys.since)}`
  ],
  ["Limits counted in", setup.store],
  ["FIPS provider", setup.fips ? "on" : "off"],
  ["TLS certificate", certificate(setup.tlsUntil)],
  ...processes.map(({ host, memory, pid, startedAt }) => [
    `${host} ${pid}`,
    `since ${moment(startedAt)}, ${Math.round(memory / 1048576)} MiB`
  ])
]

let view
const show = () => {
  if (view === undefined) return
  const { deployments, flags, now, processes, refusals, requestsInFlight, setup, streamsInFlight, use } = view
  const sum = (list, of) => list.reduce((total, one) => total + of(one), 0)
  const oldest = Math.min(...processes.map(({ startedAt }) => startedAt))
  byId("about").textContent =
    `Version ${setup.version}${setup.sandbox ? ", sandbox: simulated clouds" : ""}, ${processes.length} ${processes.length === 1 ? "process" : "processes"}, running for ${lasting(now - oldest)}`
  const tiles = [
    ["Requests in flight", "now", requestsInFlight],
    ["Streams in flight", "now", streamsInFlight],
    ["Requests", "last hour", sum(deployments, ({ hour }) => hour.requests)],
    ["Failed", "last hour", sum(deployments, ({ hour }) => hour.failures)],
    ["Refused", "since the start", sum(refusals, (one) => one.count)],
    ["Flagged calls", "since the start", sum(flags, (one) => one.count)]
  ]
  byId("tiles").replaceChildren(
    ...tiles.map(([name, period, number]) =>
      make("div", {}, make("dt", {}, name, soft(period)), make("dd", {}, count(number)))
    )
  )
  const alerts = alertsOf(view)
  if (byId("alerts").dataset.shown !== JSON.stringify(alerts)) {
    byId("alerts").dataset.shown = JSON.stringify(alerts)
    byId("alerts").replaceChildren(...alerts.map((text) => make("p", { class: "alert" }, text)))
  }
  const shown = byId("busy").checked ? deployments.filter(({ hour }) => hour.requests > 0) : deployments
  const row = deploymentRow(now, setup.sandbox ? "sandbox-" : "")
  keep(byId("rows"), orNothing(shown.map(row), 6, "No deployment had a request in the last hour."))
  keep(byId("use"), orNothing(use.map(useRow(setup.currency)), 3, "No key was used or has a monthly limit."))
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
