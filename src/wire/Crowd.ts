/**
 * Members that come and go with every request. A `Set` copies itself after some dozens of changes, and V8 lets each copy point to
 * the next: once one of them is old, all that follow live until the whole heap is collected, with everything that their members
 * hold. Whole replies took 11 % more processor time so, and 40 MiB.
 */
export class Crowd<A> {
  private readonly places: Array<{ readonly member: A; at: number }> = []

  get size(): number {
    return this.places.length
  }

  /** In no order. While it runs, nobody may leave: somebody else would be left out. */
  *[Symbol.iterator](): Generator<A> {
    for (const { member } of this.places) yield member
  }

  /** Answers how to leave. */
  add(member: A): () => void {
    const place = { member, at: this.places.length }
    this.places.push(place)
    return () => {
      if (this.places[place.at] !== place) return
      const last = this.places.pop()
      if (last === undefined || last === place) return
      last.at = place.at
      this.places[place.at] = last
    }
  }
}
