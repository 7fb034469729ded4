/**
 * The demo's login: whoever opens the page becomes a user of their own, remembered by a signed cookie. A real
 * application puts its own authentication here.
 *
 * @module
 */

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const COOKIE = 'playground_session'
const USER_ID = /^demo-[0-9a-f]{16}$/

/** Issues and checks the cookies of one key. */
export class SessionCookies {
  readonly #key: Buffer

  constructor(key: Buffer) {
    this.#key = key
  }

  /** Opens the key kept in `home`, or makes one, so that users outlive a restart over the same directory. */
  static async open(home: string): Promise<SessionCookies> {
    const file = join(home, 'session-cookie.key')
    try {
      return new SessionCookies(await readFile(file))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      const key = randomBytes(32)
      await writeFile(file, key, { mode: 0o600, flag: 'wx' })
      return new SessionCookies(key)
    }
  }

  /** The user that a `cookie` request header proves, if any. */
  userOf(header: string | undefined): string | undefined {
    for (const pair of header?.split(';') ?? []) {
      const [name, value] = pair.trim().split('=', 2)
      if (name !== COOKIE || value === undefined) continue
      const [userId, mac] = value.split('.', 2)
      if (userId === undefined || mac === undefined || !USER_ID.test(userId)) continue
      const expected = this.#mac(userId)
      const given = Buffer.from(mac)
      if (given.length === expected.length && timingSafeEqual(given, expected)) return userId
    }
    return undefined
  }

  /** A `set-cookie` value for a new user. */
  issue(): string {
    const userId = `demo-${randomBytes(8).toString('hex')}`
    return `${COOKIE}=${userId}.${this.#mac(userId).toString()}; Path=/; HttpOnly; SameSite=Strict`
  }

  #mac(userId: string): Buffer {
    return Buffer.from(createHmac('sha256', this.#key).update(userId).digest('hex'))
  }
}
