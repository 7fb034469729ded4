import { admission } from './admission.ts'
import type { Case } from './case.ts'
import { firstByte } from './first-byte.ts'
import { history } from './history.ts'
import { longReply } from './long-reply.ts'
import { memory } from './memory.ts'
import { replay } from './replay.ts'
import { streaming } from './streaming.ts'

/** Every case, in the order in which it is run and printed. */
export const CASES: readonly Case[] = [
  streaming('yielding'), streaming('blocking'),
  firstByte('yielding'), firstByte('blocking'),
  admission, history, replay, memory,
  longReply('yielding'), longReply('blocking'),
]
