/**
 * kill -9 between any two events of a conversation: the next Host on the same disk goes on from there, with no message
 * lost or admitted twice (G8, G11, G20). `support/restart/legal.ts` says what is held.
 */

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { judge } from '../../support/restart/legal.ts'
import { readLog } from '../../support/restart/log.ts'
import type { DiskLog } from '../../support/restart/log.ts'
import { Person } from '../../support/restart/person.ts'
import type { CLIENTS } from '../../support/restart/person.ts'
import { HostProcess, Line } from '../../support/restart/process.ts'
import type { Cut } from '../../support/restart/process.ts'
import type { Disk } from '../../support/restart/protocol.ts'

const LANES = Math.min(4, availableParallelism())
const ROOT = mkdtempSync(join(tmpdir(), 'dsh-ag-ui-restart-'))
const COMPILED = join(ROOT, 'compiled')

/** What the disk has when the process dies, and who talks to it. */
const WAYS: readonly { readonly disk: Disk, readonly client: keyof typeof CLIENTS }[] = [
  { disk: 'written', client: 'HttpAgent' },
  { disk: 'held', client: 'DshHttpAgent' },
]

/** A process that serves one Host after another until it is killed; another one takes its place. */
class Lane {
  #process = new HostProcess(COMPILED)

  /**
   * Plays the script on a fresh home, with the process killed at each of the cuts in turn, and judges. Returns how many
   * events each run had.
   */
  async play(disk: Disk, client: keyof typeof CLIENTS, ...cuts: Cut[]): Promise<readonly number[]> {
    const home = mkdtempSync(join(ROOT, 'home-'))
    const kills: DiskLog[] = []
    const connect = async (): Promise<Line> => new Line(this.#process, await this.#process.boot(home, disk), cuts.shift())
    const person = new Person(client, await connect(), async () => {
      this.#process = new HostProcess(COMPILED)
      kills.push(readLog(home))
      return await connect()
    })
    await person.converse()
    // Nobody dies any more: the last Host stops as Hosts do.
    const reader = new Person(client, await connect(), connect)
    await reader.run()
    await this.#process.close()
    const { exchanges, said, messages: held } = person
    judge({ exchanges, said, kills, disk: readLog(home), held, read: reader.messages })
    rmSync(home, { recursive: true })
    return exchanges.map(({ events }) => events.length)
  }

  /** A process whose conversation went wrong serves no other. */
  async renew(): Promise<void> {
    await this.#process.stop()
    this.#process = new HostProcess(COMPILED)
  }

  async stop(): Promise<void> {
    await this.#process.stop()
  }
}

/** Plays with every cut, several at once, and tells which ones failed. */
async function playAll(lanes: readonly Lane[], cuts: readonly (readonly Cut[])[], disk: Disk, client: keyof typeof CLIENTS): Promise<void> {
  const failures: string[] = []
  const left = [...cuts]
  await Promise.all(lanes.map(async (lane) => {
    for (let cut = left.shift(); cut !== undefined; cut = left.shift()) {
      try {
        await lane.play(disk, client, ...cut)
      } catch (error) {
        failures.push(`${JSON.stringify(cut)}: ${(error as Error).message}`)
        await lane.renew()
      }
    }
  }))
  assert.deepEqual(failures, [], `${failures.length} of ${cuts.length}`)
}

/**
 * After how many events of the conversation the process dies: after every single one. Where nothing is written but what
 * is waited for, the disk is the same inside of a run: its first event, its middle and its last two stand for all.
 */
function points(runs: readonly number[], disk: Disk): number[] {
  let before = 0
  return runs.flatMap((length) => {
    const counts = Array.from({ length }, (_, at) => before + at + 1)
    before += length
    return disk === 'written' ? counts : counts.filter((_, at) => [0, length >> 1, length - 2, length - 1].includes(at))
  })
}

test('kill -9 between any two events', async (t) => {
  const lanes = [new Lane()]
  t.after(async () => {
    for (const lane of lanes) await lane.stop()
    rmSync(ROOT, { recursive: true, force: true })
  })
  for (const { disk, client } of WAYS) {
    await t.test(`${client}, disk ${disk}`, async () => {
      // Nobody dies: says how many points there are.
      const runs = await lanes[0]!.play(disk, client)
      while (lanes.length < LANES) lanes.push(new Lane())
      const cuts: Cut[][] = [
        ...runs.map((_, run): Cut[] => [{ at: 'arrival', run }]),
        ...runs.map((_, run): Cut[] => [{ at: 'work', run }]),
        ...points(runs, disk).map((count): Cut[] => [{ at: 'event', count }]),
      ]
      await playAll(lanes, cuts, disk, client)
      t.diagnostic(`${client}, disk ${disk}: ${cuts.length} points`)
    })
  }
  await t.test('and again while the client is told of it', async () => {
    // Inside of the turn that calls the browser's Tool; then at every event of the run that tells, and of the next.
    const first: Cut = { at: 'event', count: 13 }
    const again = Array.from({ length: 6 }, (_, at): Cut => ({ at: 'event', count: at + 1 }))
    await playAll(lanes, again.map(second => [first, second]), 'written', 'HttpAgent')
  })
})
