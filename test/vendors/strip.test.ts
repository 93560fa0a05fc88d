import { describe, expect, it } from "@effect/vitest"
import { compileStrip, drops, strip, withoutPath } from "../../src/wire/strip.ts"

describe("stripping", () => {
  const body = {
    a: { b: 1, c: 2 },
    list: [{ x: { y: 1, z: 2 } }, "text", { x: "text" }, {}],
    kept: [1]
  }
  it.each([
    [[], body],
    [["nothing", "a.nothing", "kept[].x", "a[].b", "list.x"], body],
    [["a"], { list: body.list, kept: body.kept }],
    [["a.b"], { ...body, a: { c: 2 } }],
    [["list[].x.y"], { ...body, list: [{ x: { z: 2 } }, "text", { x: "text" }, {}] }],
    [["a.b", "a.c"], { list: body.list, kept: body.kept }],
    [["list[].x"], { ...body, list: [{}, "text", {}, {}] }],
    [["list[].x=other", "a=text", "a.b=1"], body],
    [["list[].x=text"], { ...body, list: [{ x: { y: 1, z: 2 } }, "text", {}, {}] }]
  ])("%j", (paths, expected) => {
    const before = structuredClone(body)
    const gone: Array<string> = []
    expect(strip(body, compileStrip(paths), (path) => gone.push(path))).toEqual(expected)
    expect(gone.length > 0).toBe(expected !== body)
    expect(body).toEqual(before)
  })

  it("tells what went, by its path", () => {
    const gone: Array<string> = []
    strip(body, compileStrip(["a.b", "a.c", "list[].x.y", "kept"]), (path) => gone.push(path))
    expect(gone).toEqual(["kept", "a.b", "a.c", "list.x.y"])
  })

  it("spares a field whose text would take it", () => {
    const fields = compileStrip(["list[].x=text", "list[].x=other", "a.b"])
    expect(strip(body, withoutPath(withoutPath(fields, "list[].x=text"), "a.b"))).toBe(body)
    expect(strip(body, withoutPath(fields, "list[].x=other"))).not.toBe(body)
  })

  it.each([
    ["a", true],
    ["a.b", true],
    ["list[].x", false],
    ["list[].x.y", true],
    ["list.x.y", false],
    ["kept", false]
  ])("knows whether %s goes", (path, expected) => {
    expect(drops(compileStrip(["a", "list[].x.y"]), path)).toBe(expected)
  })
})
