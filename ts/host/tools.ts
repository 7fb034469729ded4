/**
 * Tools of the gateway in the registry of the Host, and the Tools that its agents have without us.
 *
 * @module
 */

import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import type { ToolDefinition, ToolRunContext } from '@deepseek-ai/dsh-tools'
import type { ParentScope } from './compat.ts'
import { HostError } from './error.ts'
import type { HostTool, HostToolCall, HostToolResult } from './port.ts'

/**
 * Makes the definition that the Host executes.
 *
 * It is raw: the Host checks neither its name nor its arguments (host-api §0.2-6), the gateway has done both.
 *
 * @param tool - A Tool whose body lives in the gateway.
 */
export function toDefinition(tool: HostTool): ToolDefinition {
  return {
    name: tool.name,
    description: tool.description,
    parameters: tool.parameters,
    output: {
      schema: {},
      render: (_args, value) => [{ type: 'text', text: (value as unknown as HostToolResult).text }],
      // The Host refuses `undefined` here; records drop the `null` again.
      presentationMeta: (_args, value) => ((value as unknown as HostToolResult).meta ?? null) as never,
    },
    // An exclusive call would hold the calls after it back until its result is in (host-api §0.2-3).
    isConcurrencySafe: () => tool.concurrent,
    execute: (args, exec) => runBody(tool, args, exec),
  }
}

/** Runs a body that settles at the latest one tick after its signal aborts, whatever the gateway does (§0.2-4, -5). */
function runBody(tool: HostTool, args: unknown, exec: ToolRunContext): Promise<HostToolResult> {
  const { callId, signal } = exec
  return new Promise((resolve, reject) => {
    const abandon = (): void => {
      // The gateway listens to the same signal and gets this tick to say why in its own words.
      setImmediate(() => reject(new HostError('TOOL_ABORTED', `Tool "${tool.name}" was aborted`)))
    }
    if (signal.aborted) abandon()
    else signal.addEventListener('abort', abandon, { once: true })
    callBody(tool, { callId, arguments: args, signal })
      .finally(() => signal.removeEventListener('abort', abandon))
      .then(resolve, reject)
  })
}

async function callBody(tool: HostTool, call: HostToolCall): Promise<HostToolResult> {
  const { text, meta } = await tool.execute(call)
  return meta === undefined ? { text } : { text, meta }
}

/** What all agents of one Host inherit, read once per change of the registry. */
export class ToolCatalog {
  readonly #ctx: Context
  readonly #onChange: () => void
  #global: readonly string[] | undefined
  #scoped = new WeakMap<object, readonly string[]>()
  #ownChange = false
  #scheduled = false

  /**
   * @param ctx - The plugin's own context; needs `tools`.
   * @param onChange - Called in a microtask after Tools that are not ours came or went.
   */
  constructor(ctx: Context, onChange: () => void) {
    this.#ctx = ctx
    this.#onChange = onChange
    ctx.on('tools/change', () => this.#changed())
  }

  /**
   * Changes Tools in an agent's own scope. The Host tells every agent about every change at once; what nobody
   * inherits is no news to the others.
   *
   * @param agent - The agent whose scope changes.
   * @param change - Registers or unregisters, synchronously.
   */
  quietly<T>(agent: Agent, change: () => T): T {
    this.#ownChange = true
    try {
      return change()
    } finally {
      this.#ownChange = false
      this.#scoped.delete(agent)
    }
  }

  /**
   * Names that a scope sees, sorted. The array is shared and stays the same while the registry does.
   *
   * @param scope - The scope that encloses an agent's; `undefined` for the Host's global Tools.
   */
  visibleIn(scope: object | undefined): readonly string[] {
    const known = scope === undefined ? this.#global : this.#scoped.get(scope)
    if (known !== undefined) return known
    // The registry takes any scope key as its view; its types know agents only.
    const names = this.#ctx.tools.schemas(scope as Agent | undefined).map(schema => schema.name).sort()
    if (scope === undefined) this.#global = names
    else this.#scoped.set(scope, names)
    return names
  }

  /**
   * Names that an agent has without us: what it inherits, and what others registered in its own scope.
   *
   * @param agent - A live agent.
   * @param parentOf - Reads the enclosing scope; without it a Tool of a preset that was registered after ours of the
   *   same name cannot be seen, everything else can.
   * @param own - Our definitions by name, with whether the name was inherited when they were registered.
   */
  inheritedBy(agent: Agent, parentOf: ParentScope | undefined, own: ReadonlyMap<string, OwnTool>): readonly string[] {
    if (parentOf !== undefined) {
      const inherited = this.visibleIn(parentOf(agent))
      const beside = this.visibleIn(agent).filter((name) => {
        const ours = own.get(name)
        return ours === undefined ? !inherited.includes(name) : this.#ctx.tools.get(name, agent) !== ours.definition
      })
      return beside.length === 0 ? inherited : [...new Set([...inherited, ...beside])].sort()
    }
    return this.visibleIn(agent).filter((name) => {
      const ours = own.get(name)
      return ours === undefined || ours.shadowing || this.#ctx.tools.get(name) !== undefined
        || this.#ctx.tools.get(name, agent) !== ours.definition
    })
  }

  /** An agent inherits from another scope now. */
  forget(agent: Agent): void {
    this.#scoped.delete(agent)
  }

  #changed(): void {
    if (this.#ownChange) return
    this.#global = undefined
    this.#scoped = new WeakMap()
    if (this.#scheduled) return
    this.#scheduled = true
    queueMicrotask(() => {
      this.#scheduled = false
      this.#onChange()
    })
  }
}

/** A Tool of ours in an agent's own scope. */
export interface OwnTool {
  readonly definition: ToolDefinition
  /** Whether the agent inherited a Tool of this name when ours was registered. */
  readonly shadowing: boolean
}

/** Whether two sorted lists of names are the same. */
export function sameNames(left: readonly string[], right: readonly string[]): boolean {
  return left === right || left.length === right.length && left.every((name, index) => name === right[index])
}
