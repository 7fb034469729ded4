/**
 * The Tool calls of one step, through the real ToolRuntime. Parallel calls overlap up to a limit, an exclusive call waits
 * for all before it; results commit in the order of the model (host-api §1.4, §3.5).
 */

import type { Context } from '@deepseek-ai/cordis'
import type { ContentBlock } from '@deepseek-ai/dsh-llm'
import { TOOL_ABORTED_BEFORE_DISPATCH, TOOL_RUNTIME_SCHEDULER } from '@deepseek-ai/dsh-tools'
import type { ToolExecutionResult, ToolRunContext } from '@deepseek-ai/dsh-tools'
import type { NewerAgent } from './agent.ts'
import { toolResultMessage } from './generation.ts'
import type { AnyMessage } from './generation.ts'

type CallBlock = Extract<ContentBlock, { type: 'tool-call' }>

/** Where the calls are made. */
export interface StepPosition {
  readonly agent: NewerAgent
  readonly turn: number
  readonly step: number
  readonly signal: AbortSignal
}

/** A call whose result may be committed when all before it are. */
interface Finished {
  readonly exec: ToolRunContext
  readonly result: ToolExecutionResult
  readonly stage: 'post' | 'final'
}

const MAX_PARALLEL = 10

/**
 * Runs the calls.
 *
 * @param accept - Takes messages that Tools add for the next step.
 * @returns Whether a Tool concluded the turn.
 */
export async function runCalls(
  ctx: Context, at: StepPosition, blocks: readonly CallBlock[], accept: (message: AnyMessage) => void,
): Promise<boolean> {
  const scheduler = ctx.tools[TOOL_RUNTIME_SCHEDULER]
  const calls = blocks.map(block => ({ block, exec: inputOf(at, block), seq: -1 }))
  const finished: (Finished | undefined)[] = []
  const running = new Map<number, Promise<void>>()
  let committed = 0
  let concluded = false

  const commit = async (): Promise<void> => {
    for (let done = finished[committed]; done !== undefined; done = finished[committed]) {
      const call = calls[committed]!
      const result = done.stage === 'post' ? await scheduler.finalize(done.exec, done.result) : scheduler.finish(done.exec, done.result)
      logResult(at, call.block, result, call.seq)
      for (const message of result.additionalContexts ?? []) accept(message as unknown as AnyMessage)
      if ('concludesTurn' in result) concluded = true
      committed += 1
    }
  }
  const settleOne = async (): Promise<void> => {
    await Promise.race(running.values())
    await commit()
  }
  const start = async (index: number): Promise<void> => {
    const call = calls[index]!
    call.seq = logCall(at, call.block)
    const prepared = await scheduler.prepare(call.exec)
    if (prepared.kind !== 'dispatch') {
      finished[index] = { exec: prepared.exec, result: prepared.result, stage: prepared.kind === 'post-result' ? 'post' : 'final' }
      return
    }
    const { exec } = prepared
    running.set(index, scheduler.dispatch(exec).then(({ kind, result }) => {
      finished[index] = { exec, result, stage: kind === 'post-result' ? 'post' : 'final' }
      running.delete(index)
    }))
  }

  let exclusive = false
  for (let index = 0; index < calls.length && !at.signal.aborted; index += 1) {
    const mode = ctx.tools.executionMode(calls[index]!.exec).kind
    while (running.size > 0 && (exclusive || mode === 'exclusive' || running.size >= MAX_PARALLEL)) await settleOne()
    if (at.signal.aborted) break
    exclusive = mode === 'exclusive'
    await start(index)
    await commit()
  }
  while (running.size > 0) await settleOne()
  await commit()
  for (const { block } of calls.slice(committed)) {
    const message = 'tool call aborted before dispatch'
    const info = { name: 'AbortError', code: TOOL_ABORTED_BEFORE_DISPATCH }
    const content: ContentBlock[] = [{ type: 'text', text: `Error: ${message}` }]
    logResult(at, block, { isError: true, content, error: { message, info } }, logCall(at, block))
  }
  return concluded
}

function inputOf({ agent, signal }: StepPosition, { id, name, arguments: raw }: CallBlock) {
  let args: unknown = raw === '' ? {} : raw
  try {
    if (raw !== '') args = JSON.parse(raw)
  } catch {
    // Broken JSON reaches the Tool as text.
  }
  return { callId: id, name, arguments: args, agent: agent as never, signal }
}

function logCall({ agent, turn, step }: StepPosition, { id, name, arguments: raw }: CallBlock): number {
  return agent.session.append('tool/call', { turn, step, callId: id, name, arguments: raw }).seq
}

function logResult({ agent, turn, step }: StepPosition, { id }: CallBlock, result: ToolExecutionResult, callSeq: number): void {
  const { session } = agent
  const error = result.isError ? result.error.info : undefined
  session.append('tool/result', {
    turn,
    step,
    message: toolResultMessage(session.generation, id, result.content, result.isError),
    ...error === undefined ? {} : { error },
    ...result.meta === undefined ? {} : { meta: result.meta },
  }, { surfaceOp: 'append', sourceEventSeqs: [callSeq] })
}
