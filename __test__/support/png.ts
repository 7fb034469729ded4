/** Real images, made here. */

import { crc32, deflateSync } from 'node:zlib'

/** A PNG of one colour per pixel row; `seed` tells images apart. */
export function png(width = 4, height = 4, seed = 0): Buffer {
  const rows = Array.from({ length: height }, (_, y) => Buffer.concat([
    Buffer.from([0]), Buffer.from(Array.from({ length: width * 3 }, (_each, x) => (x * 7 + y * 31 + seed) % 256)),
  ]))
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 2, 0, 0, 0], 8) // eight bits of RGB, nothing interlaced
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', header), chunk('IDAT', deflateSync(Buffer.concat(rows), { level: 0 })), chunk('IEND', Buffer.alloc(0)),
  ])
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  check.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, check])
}
