/** A seeded source of choices, so that a failing case can be run again. */
export class Random {
  #state: number

  /** @param seed - Any integer; equal seeds give equal choices. */
  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** An integer from 0 up to, not including, `bound`. */
  below(bound: number): number {
    // Mulberry32.
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = this.#state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound
  }

  /** True `times` out of `outOf`. */
  chance(times: number, outOf: number): boolean {
    return this.below(outOf) < times
  }

  pick<T>(choices: readonly T[]): T {
    const choice = choices[this.below(choices.length)]
    if (choice === undefined) throw new Error('nothing to pick from')
    return choice
  }

  /** Some of the choices, in their order. */
  some<T>(choices: readonly T[]): T[] {
    return choices.filter(() => this.chance(1, 2))
  }

  /** `length` results of `make`. */
  list<T>(length: number, make: () => T): T[] {
    return Array.from({ length }, make)
  }
}
