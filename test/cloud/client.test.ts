/** The one place where calls leave the process: what a slow or a leaving reader means to the cloud, and what is told of a call. */
import { Dispatcher } from "@effect/platform-node/NodeHttpClient"
import type Undici from "@effect/platform-node/Undici"
import { afterEach, assert, beforeEach, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Option, Pull, References, Scope, Stream } from "effect"
import { HttpBody, HttpClientError, HttpClientRequest } from "effect/http"
import { vi } from "vitest"
import { type GatewayError, noRoom } from "../../src/catalog/GatewayError.ts"
import { CurrentCall, makeClient } from "../../src/cloud/client.ts"
import { brokenOff, clientError } from "../../src/cloud/fault.ts"
import type { CallContext } from "../../src/cloud/Response.ts"
import { collect, heap } from "../support/heap.ts"

const mib = 2 ** 20
const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

/** A cloud behind a dispatcher that does as undici's: what has come already is delivered within `resume`, until it is paused again. */
const fakeCloud = () => {
  let handler: Undici.Dispatcher.DispatchHandler | undefined
  let options: Undici.Dispatcher.DispatchOptions | undefined
  const arrived: Array<Uint8Array | "end"> = []
  const cloud = { paused: false, aborted: undefined as Error | undefined }
  const deliver = () => {
    while (!cloud.paused && cloud.aborted === undefined) {
      const next = arrived.shift()
      if (next === undefined) return
      if (next === "end") handler?.onResponseEnd?.(controller, {})
      else handler?.onResponseData?.(controller, Buffer.from(next))
    }
  }
  const controller = {
    rawHeaders: [],
    pause: () => {
      cloud.paused = true
    },
    resume: () => {
      if (!cloud.paused) return
      cloud.paused = false
      deliver()
    },
    abort: (error: Error) => {
      if (cloud.aborted !== undefined) return
      cloud.aborted = error
      handler?.onResponseError?.(controller, error)
    }
  } as unknown as Undici.Dispatcher.DispatchController
  const dispatcher = {
    dispatch: (given: Undici.Dispatcher.DispatchOptions, to: Undici.Dispatcher.DispatchHandler) => {
      options = given
      handler = to
      return true
    }
  } as unknown as Undici.Dispatcher
  return Object.assign(cloud, {
    dispatcher,
    options: () => options,
    /** The connection is there, and the request is sent. */
    start: () => handler?.onRequestStart?.(controller, {}),
    head: (status = 200, headers: Record<string, string | Array<string>> = {}) =>
      handler?.onResponseStart?.(controller, status, headers, ""),
    /** One read of the socket. */
    receive: (...pieces: ReadonlyArray<Uint8Array | "end">) => {
      arrived.push(...pieces)
      deliver()
    },
    waiting: () => arrived.length,
    fail: (error: Error) => handler?.onResponseError?.(controller, error)
  })
}

const url = "https://cloud.example:8443/model/m?a=1"
const request = HttpClientRequest.post(url, { headers: { accept: "*/*" } })

/** A call that is under way, in a scope of its own. */
const calling = async (
  { body, ...context }: Partial<CallContext> & { readonly body?: Uint8Array } = {},
  cloud = fakeCloud()
) => {
  const scope = Effect.runSync(Scope.make())
  const client = Effect.runSync(Effect.provideService(makeClient, Dispatcher, cloud.dispatcher))
  const sent = body === undefined ? request : HttpClientRequest.setBody(request, HttpBody.uint8Array(body))
  const fiber = Effect.runFork(
    client
      .execute(sent)
      .pipe(
        Scope.provide(scope),
        Effect.provideService(CurrentCall, { received: () => {}, sent: () => {}, takeMemory: () => true, ...context })
      )
  )
  await nextTurn()
  return {
    cloud,
    fiber,
    response: () => Effect.runPromise(Fiber.join(fiber)),
    close: (exit: Exit.Exit<unknown, unknown>) => Effect.runPromise(Scope.close(scope, exit))
  }
}

/** A call whose head has come. */
const answered = async (status = 200, context: Partial<CallContext> = {}) => {
  const call = await calling(context)
  call.cloud.start()
  call.cloud.head(status)
  return { ...call, response: await call.response() }
}

type Answered = Awaited<ReturnType<typeof answered>>

const pullOf = ({ response }: Answered) =>
  Effect.runPromise(Scope.provide(Stream.toPull(response.stream), Effect.runSync(Scope.make())))

type Chunks = ReadonlyArray<Uint8Array>
const sizeOf = (chunks: Chunks) => chunks.reduce((size, { length }) => size + length, 0)
const take = (pull: Pull.Pull<Chunks, unknown>) => Effect.runPromise(pull as Effect.Effect<Chunks>)
const ended = "ended"
const takeOrEnd = (pull: Pull.Pull<Chunks, unknown>) =>
  Effect.runPromise(Pull.catchDone(pull, () => Effect.succeed(ended)) as Effect.Effect<Chunks | typeof ended>)

/** The failure as a caller may know it. */
const errorOf = (exit: Exit.Exit<unknown, unknown>): GatewayError => {
  const error = Exit.isFailure(exit) ? Option.getOrUndefined(Cause.findErrorOption(exit.cause)) : undefined
  assert.instanceOf(error, HttpClientError.HttpClientError)
  return clientError(error)
}

describe("a reader that is slower than its cloud", () => {
  it.each([1_000, 16_384, 40_000, 200_000])("gets every piece of %i bytes", async (size) => {
    const call = await answered()
    const pieces = Math.ceil(1_000_000 / size)
    setImmediate(() => call.cloud.receive(...Array.from({ length: pieces }, () => Buffer.alloc(size)), "end"))
    const pull = await pullOf(call)
    let read = 0
    for (let next = await takeOrEnd(pull); next !== ended; next = await takeOrEnd(pull)) {
      read += sizeOf(next)
      await nextTurn()
    }
    assert.strictEqual(read, pieces * size)
    assert.strictEqual(await takeOrEnd(pull), ended, "it stays ended")
  })

  it("holds it back after 16 KiB, until it has read them", async () => {
    const call = await answered()
    const { cloud } = call
    cloud.receive(...Array.from({ length: 100 }, () => Buffer.alloc(1_000)))
    assert.isTrue(cloud.paused)
    assert.strictEqual(cloud.waiting(), 83)
    const pull = await pullOf(call)
    assert.strictEqual(sizeOf(await take(pull)), 17_000)
    assert.strictEqual(cloud.waiting(), 66, "what comes next is here before it is asked for")
    assert.isTrue(cloud.paused)
  })
})

describe("what one read of the socket brings", () => {
  it("comes in one array to a reader that waits", async () => {
    const call = await answered()
    const pull = await pullOf(call)
    const taken = take(pull)
    await nextTurn()
    const pieces = Array.from({ length: 64 }, (_, at) => Buffer.alloc(1_000, at))
    call.cloud.receive(...pieces)
    assert.deepStrictEqual(await taken, pieces)
    assert.isFalse(call.cloud.paused)
  })

  it("is read before its end, or its failure", async () => {
    for (const failure of [undefined, new Error("cut")]) {
      const call = await answered()
      call.cloud.receive(Buffer.from("a"), Buffer.from("b"))
      if (failure === undefined) call.cloud.receive("end")
      else call.cloud.fail(failure)
      const pull = await pullOf(call)
      assert.strictEqual(Buffer.concat(await take(pull)).toString(), "ab")
      if (failure === undefined) assert.strictEqual(await takeOrEnd(pull), ended)
      else assert.strictEqual(errorOf(await Effect.runPromiseExit(pull)), brokenOff)
    }
  })
})

describe("a reader that gives way to others before it waits", () => {
  it.each(["stream", "arrayBuffer"] as const)("misses neither a piece nor the end (%s)", async (as) => {
    for (let turns = 0; turns < 40; turns++) {
      const { cloud, response } = await answered()
      const read = as === "stream" ? Stream.runDrain(response.stream) : response.arrayBuffer
      const fiber = Effect.runFork(Effect.provideService(read, References.MaxOpsBeforeYield, 3))
      for (let turn = 0; turn < turns; turn++) await nextTurn()
      cloud.receive(Buffer.from("a"))
      for (let turn = 0; turn < turns; turn++) await nextTurn()
      cloud.receive("end")
      for (let turn = 0; turn < 100; turn++) await nextTurn()
      assert.isDefined(fiber.pollUnsafe(), `after ${turns} turns`)
    }
  })
})

describe("a whole reply", () => {
  const read = async (call: Answered, ...pieces: ReadonlyArray<Uint8Array | "end">) => {
    const whole = Effect.runPromiseExit(call.response.arrayBuffer)
    await nextTurn()
    call.cloud.receive(...pieces)
    return whole
  }

  it("is read in one piece, also what had come before", async () => {
    const call = await answered()
    call.cloud.receive(...Array.from({ length: 40 }, () => Buffer.alloc(1_000, "a")))
    assert.isTrue(call.cloud.paused)
    const exit = await read(call, Buffer.from("b"), "end")
    assert.strictEqual(
      Buffer.from(Exit.isSuccess(exit) ? exit.value : new ArrayBuffer()).toString(),
      `${"a".repeat(40_000)}b`
    )
  })

  it("may be empty, which leaves nothing to those that follow", async () => {
    for (const text of ["", "after it", ""]) {
      const exit = await read(await answered(), Buffer.from(text), "end")
      assert.strictEqual(Exit.isSuccess(exit) ? Buffer.from(exit.value).toString() : "failed", text)
    }
  })

  it("is in memory once when it has been read", async () => {
    const call = await answered()
    collect()
    const before = process.memoryUsage().arrayBuffers
    const taken = () => process.memoryUsage().arrayBuffers - before
    const exit = await read(call, ...Array.from({ length: 16 }, () => Buffer.alloc(mib)), "end")
    assert.strictEqual(Exit.isSuccess(exit) ? exit.value.byteLength : undefined, 16 * mib)
    // What has just been used may still be on the stack.
    for (let turn = 0; turn < 20 && taken() > 17 * mib; turn++) {
      await nextTurn()
      collect()
    }
    assert.isAtMost(taken(), 17 * mib)
    assert.strictEqual(call.response.status, 200)
  })

  it("takes no more memory than its bytes where it comes byte by byte", async () => {
    const call = await answered()
    const whole = Effect.runPromiseExit(call.response.arrayBuffer)
    await nextTurn()
    const before = heap()
    const read = Buffer.alloc(1_000, "a")
    for (let at = 0; at < 100_000; at++) call.cloud.receive(read.subarray(at % 1_000, (at % 1_000) + 1))
    assert.isBelow(heap() - before, 2 * mib)
    call.cloud.receive("end")
    const exit = await whole
    assert.strictEqual(Exit.isSuccess(exit) && Buffer.from(exit.value).toString(), "a".repeat(100_000))
  })

  it.each([
    [200, 32 * mib],
    [400, 64 * 1024],
    [500, 64 * 1024]
  ])("of status %i fails over its limit, and the call is ended", async (status, limit) => {
    const within = await answered(status)
    const exit = await read(within, Buffer.alloc(limit), "end")
    assert.strictEqual(Exit.isSuccess(exit) ? exit.value.byteLength : undefined, limit)
    assert.isUndefined(within.cloud.aborted)
    const over = await answered(status)
    assert.strictEqual(errorOf(await read(over, Buffer.alloc(limit), Buffer.alloc(1))).code, "too-large")
    assert.isDefined(over.cloud.aborted)
  })

  it("fails over its limit also where all of it had come before", async () => {
    const call = await answered(500)
    call.cloud.receive(Buffer.alloc(65_537), "end")
    assert.strictEqual(errorOf(await read(call)).code, "too-large")
  })

  it("takes memory for what comes, and fails where there is none", async () => {
    let room = 50_000
    const take = (bytes: number) => {
      if (bytes > room) return false
      room -= bytes
      return true
    }
    const call = await answered(200, { takeMemory: take })
    call.cloud.receive(Buffer.alloc(20_000))
    assert.strictEqual(room, 50_000, "a stream takes none")
    const exit = read(call, Buffer.alloc(20_000), Buffer.alloc(20_000), "end")
    assert.strictEqual(errorOf(await exit), noRoom)
    assert.strictEqual(room, 10_000)
    assert.isDefined(call.cloud.aborted)
  })

  it("takes memory for the values that a large one becomes, too", async () => {
    const takenFor = async (text: string) => {
      let taken = 0
      const call = await answered(200, {
        takeMemory: (bytes) => {
          taken += bytes
          return true
        }
      })
      const pieces = Array.from({ length: 16 }, () => Buffer.from(text.repeat(mib / 16 / text.length)))
      await read(call, ...pieces, "end")
      return taken / mib
    }
    assert.isBelow(await takenFor("aaaaaaaaaaaaaaaa"), 1.1)
    // Less than a megabyte of these is small enough to be read at once.
    assert.isAbove(await takenFor("{},{},{},{},{},,"), 10)
  })

  it("that breaks off is no reply", async () => {
    const call = await answered()
    const whole = Effect.runPromiseExit(call.response.arrayBuffer)
    await nextTurn()
    call.cloud.receive(Buffer.from("{"))
    call.cloud.fail(new Error("other side closed"))
    assert.strictEqual(errorOf(await whole), brokenOff)
  })

  it("is text, and JSON", async () => {
    const [one, another] = [await answered(400), await answered(400)]
    for (const { cloud } of [one, another]) cloud.receive(Buffer.from('{"é":1}'), "end")
    assert.strictEqual(await Effect.runPromise(one.response.text), '{"é":1}')
    assert.deepStrictEqual(await Effect.runPromise(another.response.json), { é: 1 })
  })
})

describe("the scope of a call", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it.each([
    ["fails", Exit.fail("no")],
    ["is interrupted", Exit.interrupt()]
  ])("ends it where it %s", async (_, exit) => {
    const { close, cloud } = await answered()
    cloud.receive(Buffer.alloc(10))
    await close(exit)
    assert.isDefined(cloud.aborted)
    assert.strictEqual(vi.getTimerCount(), 0)
  })

  it("gives it a second to end where it succeeds", async () => {
    const { close, cloud } = await answered()
    cloud.receive(...Array.from({ length: 20 }, () => Buffer.alloc(1_000)))
    assert.isTrue(cloud.paused)
    await close(Exit.void)
    assert.isFalse(cloud.paused, "what still comes is not read, and does not wait")
    cloud.receive(...Array.from({ length: 100 }, () => Buffer.alloc(1_000)))
    assert.strictEqual(cloud.waiting(), 0)
    vi.advanceTimersByTime(999)
    assert.isUndefined(cloud.aborted)
    vi.advanceTimersByTime(1)
    assert.isDefined(cloud.aborted)
  })

  it("leaves the connection alone where the reply ends within that second, and where it had ended", async () => {
    const late = await answered()
    await late.close(Exit.void)
    vi.advanceTimersByTime(500)
    late.cloud.receive(Buffer.alloc(10), "end")
    const early = await answered()
    early.cloud.receive(Buffer.alloc(10), "end")
    await early.close(Exit.fail("no"))
    assert.strictEqual(vi.getTimerCount(), 0)
    for (const { cloud } of [late, early]) assert.isUndefined(cloud.aborted)
  })

  it("ends a whole reply whose reader has left, however long its scope lives", async () => {
    const { cloud, response } = await answered(429)
    cloud.receive(Buffer.from("{"))
    const reader = Effect.runFork(response.text)
    await nextTurn()
    await Effect.runPromise(Fiber.interrupt(reader))
    assert.strictEqual(cloud.aborted?.message, "the call was given up")
  })

  it("ends a reply whose head has come while its reader left", async () => {
    const call = await calling()
    call.cloud.start()
    await call.close(Exit.interrupt())
    call.cloud.head()
    assert.isDefined(call.cloud.aborted)
  })
})

describe("a call", () => {
  it("goes where its request says, with its headers and its body", async () => {
    for (const length of [10, 100_000]) {
      const body = Buffer.alloc(length, "a")
      const { cloud } = await calling({ body })
      const options = cloud.options()
      assert.deepInclude(options, { origin: "https://cloud.example:8443", path: "/model/m?a=1", method: "POST" })
      assert.deepInclude(options, { headersTimeout: 0, bodyTimeout: 0 })
      assert.strictEqual(Reflect.get(Object(options?.headers), "accept"), "*/*")
      const given = options?.body as unknown as Uint8Array | Iterable<Uint8Array>
      const sent = given instanceof Uint8Array ? given : Buffer.concat([...given])
      assert.isTrue(body.equals(sent))
    }
  })

  it("is told to be sent when it is, once", async () => {
    let sent = 0
    const { cloud } = await calling({ sent: () => sent++ })
    assert.strictEqual(sent, 0)
    cloud.start()
    cloud.head()
    cloud.receive(Buffer.alloc(10), "end")
    assert.strictEqual(sent, 1)
  })

  it("that is given up before its head is ended, be it sent or not", async () => {
    for (const isSent of [true, false]) {
      let sent = 0
      const { cloud, fiber } = await calling({ sent: () => sent++ })
      if (isSent) cloud.start()
      await Effect.runPromise(Fiber.interrupt(fiber))
      if (!isSent) cloud.start()
      assert.isDefined(cloud.aborted)
      assert.strictEqual(sent, isSent ? 1 : 0)
    }
  })

  it("that never gets a head fails as a connection does", async () => {
    const { cloud, fiber } = await calling()
    cloud.fail(Object.assign(new Error("connect"), { code: "ECONNREFUSED" }))
    const exit = await Effect.runPromise(Fiber.await(fiber))
    assert.strictEqual(errorOf(exit).code, "connect")
  })

  it("is answered by the head that is final, with the headers that are looked at", async () => {
    const { cloud, response } = await calling()
    cloud.start()
    cloud.head(103, { "x-request-id": "early" })
    cloud.head(429, { "content-type": ["application/json", "text/html"], "retry-after": "7", server: "secret" })
    const { headers, status } = await response()
    assert.strictEqual(status, 429)
    assert.deepStrictEqual({ ...headers }, { "content-type": "application/json", "retry-after": "7" })
  })
})
