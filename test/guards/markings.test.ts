/** How well markings are told from words that look like them, over a corpus; the table is in docs/guards.md#how-well-it-finds-them. */
import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { levels } from "../../src/catalog/names.ts"
import { contextCharacters, isSpill, type Marking, markingsIn } from "../../src/guards/markings.ts"
import { runNow } from "../../src/wire/slices.ts"
import { superlinear } from "../support/growth.ts"
import { documentAt } from "../support/readme.ts"

interface Example {
  readonly kind: string
  readonly marking: Marking | "none"
  readonly text: string
}

const examples: ReadonlyArray<Example> = readFileSync(`${import.meta.dirname}/corpus/markings.jsonl`, "utf8")
  .trimEnd()
  .split("\n")
  .map((line) => JSON.parse(line))

const found = (text: string, before?: string): ReadonlyArray<Marking> => [...runNow(markingsIn(text, before))]

const isRight = ({ marking, text }: Example): boolean =>
  marking === "none" ? found(text).length === 0 : found(text).includes(marking)

const percent = (share: number) => `${(100 * share).toFixed(1)} %`

describe("the corpus of markings", () => {
  const kinds = [...new Set(examples.map(({ kind }) => kind))]
  const rows = kinds.map((kind) => {
    const own = examples.filter((example) => example.kind === kind)
    const right = own.filter(isRight).length
    return `| ${kind} | ${own[0]?.marking === "none" ? "no" : "yes"} | ${own.length} | ${right} |`
  })
  const marked = examples.filter(({ marking }) => marking !== "none")
  const plain = examples.filter(({ marking }) => marking === "none")
  const hits = marked.filter(isRight).length
  const alarms = plain.filter((example) => !isRight(example)).length
  const recall = hits / marked.length
  const precision = hits / (hits + alarms)
  const summary = `Recall ${percent(recall)}, precision ${percent(precision)}.`

  it("is told apart as the document says", () => {
    const wrong = examples.filter((example) => !isRight(example)).map(({ text }) => text)
    if (process.env.SHOW_CORPUS !== undefined) console.log([...rows, summary, ...wrong].join("\n"))
    const { text } = documentAt("docs/guards.md")
    for (const row of rows) assert.include(text, row)
    assert.include(text, summary)
    assert.isAtLeast(recall, 0.97, wrong.join("\n"))
    assert.isAtLeast(precision, 0.95, wrong.join("\n"))
  })
})

describe("a spill", () => {
  it("is classified text anywhere, and CUI below il4 and fedramp-moderate", () => {
    assert.deepStrictEqual(
      levels.filter((level) => !isSpill("cui", level)),
      [
        "fedramp-moderate",
        "fedramp-high",
        "il4",
        "il5",
        "fedramp-moderate+itar",
        "fedramp-high+itar",
        "il4+itar",
        "il5+itar"
      ]
    )
    for (const level of levels) assert.isTrue(isSpill("classified", level))
  })
})

describe("a text in pieces", () => {
  it("is read as the whole is, wherever it is cut into sentences", () => {
    for (const { text } of examples) {
      const pieces = text.split(/(?<=[.!?] |\n)/)
      const inPieces = new Set(
        pieces.flatMap((piece, at) => [...found(piece, pieces.slice(0, at).join("").slice(-contextCharacters))])
      )
      assert.deepStrictEqual([...inPieces], found(text), text)
    }
  })

  it("that is long is read to its end, across its slices", () => {
    const filler = "word ".repeat(20_000)
    for (let shift = 0; shift < 30; shift++) {
      assert.deepStrictEqual(found(`${filler}${"x".repeat(shift * 7)}(TS//SI//NF) ${filler}`), ["classified"])
      assert.deepStrictEqual(found(`${filler.slice(shift)}\nSECRET//NOFORN\n${filler}`), ["classified"])
    }
    assert.deepStrictEqual(found(`${filler}SECRET`), [])
  })

  it.each(["(", "(C", "(C) ", "x(C)", "\n(C", "\nSECRET ", "CUI\n", "//A", "\n//NATO S", ">", "(S//NF", "\n\n ", "(A"])(
    "of nothing but %j costs no more than its length",
    async (filler) => {
      const slow = await superlinear((size) => {
        const text = filler.repeat(Math.ceil(size / filler.length))
        return (step) => {
          const slices = markingsIn(text)
          while (step("a slice", () => slices.next().done) !== true);
        }
      }, 50_000)
      assert.deepStrictEqual(slow, [])
    }
  )
})
