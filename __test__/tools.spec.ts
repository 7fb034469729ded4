import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assertObjectJsonSchema, validateJsonSchemaValue } from '@deepseek-ai/dsh-tools'
import type { JsonSchemaNode } from '@deepseek-ai/dsh-tools'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { BrowserToolSet, checkToolArguments, normalizeToolSchema } from 'dsh-ag-ui/native'
import { Random } from './support/random.ts'

type Json = null | boolean | number | string | Json[] | { [key: string]: Json }
type JsonObject = { [key: string]: Json }

/** JSON text; unlike `JSON.stringify` it keeps `-0`. */
function encode(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(encode).join(',')}]`
  if (typeof value === 'object' && value !== null) {
    return `{${Object.entries(value).map(([key, member]) => `${JSON.stringify(key)}:${encode(member)}`).join(',')}}`
  }
  return Object.is(value, -0) ? '-0' : JSON.stringify(value)
}

const NAMES = ['a', 'b', 'c', 'd'] as const
const SCALARS: readonly Json[] = ['x', 'y', '', 1, 2.5, 0, -0, 1e20, true, false, null]

/** Values that schemas of these tests are likely to have an opinion on. */
function randomValue(random: Random, depth = 3): Json {
  const kind = depth === 0 ? 0 : random.below(4)
  if (kind === 2) return random.list(random.below(3), () => randomValue(random, depth - 1))
  if (kind === 3) return Object.fromEntries(random.some(NAMES).map(name => [name, randomValue(random, depth - 1)]))
  return random.pick(SCALARS)
}

/** A value that a schema probably accepts. */
function valueFor(random: Random, schema: Json | undefined, depth = 6): Json {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema) || depth === 0 || random.chance(1, 12)) {
    return randomValue(random)
  }
  const { const: only, enum: listed, oneOf, anyOf, allOf, properties, items } = schema
  if (only !== undefined) return only
  if (Array.isArray(listed) && listed.length > 0) return random.pick(listed)
  const branches = oneOf ?? anyOf ?? allOf
  if (Array.isArray(branches) && branches.length > 0) return valueFor(random, random.pick(branches), depth - 1)
  const type = Array.isArray(schema.type) && schema.type.length > 0 ? random.pick(schema.type) : schema.type
  switch (type) {
    case 'string': return random.pick(['x', 'y', 'z'])
    case 'number': return random.pick([1, 2.5, -0, 7])
    case 'integer': return random.pick([1, 2, 1.0, 1e20])
    case 'boolean': return random.chance(1, 2)
    case 'null': return null
    case 'array': return random.list(random.below(3), () => valueFor(random, items, depth - 1))
    case 'object': {
      const members: JsonObject = {}
      for (const [name, member] of Object.entries((properties ?? {}) as JsonObject)) {
        if (random.chance(3, 4)) members[name] = valueFor(random, member, depth - 1)
      }
      if (random.chance(1, 8)) members[random.pick(NAMES)] = randomValue(random)
      return members
    }
    default: return randomValue(random)
  }
}

/** Schemas in and near the subset of DSH: mostly valid nodes, now and then a foreign, misplaced or broken keyword. */
function subsetSchema(random: Random, depth: number): Json {
  if (random.chance(1, 60)) return random.pick<Json>([true, null, 'object', []])
  const schema: JsonObject = {}
  if (random.chance(1, 5)) schema.description = random.pick<Json>(['text', 'text', 'text', 7])
  if (random.chance(1, 8)) schema.default = randomValue(random, 1)
  if (random.chance(1, 40)) schema[random.pick(['$schema', 'format', 'minLength', 'anyOf', 'pattern'])] = 1
  const kind = depth === 0 ? random.below(4) : random.below(7)
  if (kind === 6) {
    schema.oneOf = random.list(random.pick([2, 2, 3, 1]), () => subsetSchema(random, depth - 1))
    if (random.chance(1, 15)) schema.type = 'string'
    if (random.chance(1, 15)) schema.properties = {}
  } else if (kind >= 4) {
    const names = random.some(NAMES)
    schema.type = kind === 4 ? 'object' : 'array'
    const owner = random.chance(1, 20) ? 'array' : schema.type
    if (owner === 'object') {
      schema.properties = Object.fromEntries(names.map(name => [name, subsetSchema(random, depth - 1)]))
      if (random.chance(1, 2)) schema.required = random.chance(1, 20) ? ['nowhere'] : random.some(names)
      if (random.chance(1, 3)) schema.additionalProperties = random.pick<Json>([true, false, false, {}])
    } else if (random.chance(3, 4)) schema.items = subsetSchema(random, depth - 1)
  } else if (kind > 0) {
    const type = random.pick(['string', 'number', 'integer', 'boolean', 'null', 'string', 'integer'])
    schema.type = random.chance(1, 40) ? random.pick<Json>([['string', 'null'], 'any', 3]) : type
    const values = { string: ['x', 'y'], number: [1, 2.5], integer: [1, 2], boolean: [true], null: [null] }[type] ?? []
    if (random.chance(1, 4)) schema.enum = random.chance(1, 10) ? random.pick<Json>([[], 'x', [-0], [{}]]) : values
    if (random.chance(1, 6)) schema.const = random.chance(1, 6) ? randomValue(random, 1) : values[0] ?? null
  } else if (random.chance(1, 20)) schema.enum = ['x']
  return schema
}

/** An object-rooted schema around whatever `make` makes. */
function rooted(random: Random, make: (random: Random, depth: number) => Json): JsonObject {
  const names = random.some(NAMES)
  const properties = Object.fromEntries(names.map(name => [name, make(random, 3)]))
  return { type: 'object', properties, required: random.some(names) }
}

/** Violations of DSH, or `undefined` where it accepts. */
function dshRefusal(schema: unknown): string[] | undefined {
  try {
    assertObjectJsonSchema(schema)
    return undefined
  } catch (error) {
    return (error as { violations: string[] }).violations
  }
}

/** Our violations, or the accepted text. */
function ourReading(schema: Json, mode: 'strict' | 'normalize'): string | string[] {
  try {
    return normalizeToolSchema(encode(schema), mode)
  } catch (error) {
    const { code, status, violations } = error as { code: string, status: number, violations: string[] }
    assert.deepEqual([code, status], ['INVALID_FRONTEND_TOOL_SCHEMA', 400])
    assert.ok(violations.length > 0)
    return violations
  }
}

const ourPaths = (violations: readonly string[]): string[] => violations.map(text => text.split(': ')[0] ?? '').sort()
const dshSchemaPaths = (violations: readonly string[]): string[] => violations.map(text => text.split(' ')[0] ?? '').sort()
const dshValuePaths = (violations: readonly string[]): string[] =>
  violations.map(text => /"(.*?)"/u.exec(text)?.[1] ?? '').sort()

describe('the schema subset (G11)', () => {
  it('accepts and refuses what DSH accepts and refuses, at the same places', () => {
    const seen = { accepted: 0, refused: 0 }
    for (let seed = 0; seed < 1500; seed++) {
      const random = new Random(seed)
      const schema = random.chance(1, 10) ? subsetSchema(random, 3) : rooted(random, subsetSchema)
      const expected = dshRefusal(JSON.parse(encode(schema)))
      const actual = ourReading(schema, 'strict')
      if (expected === undefined) {
        assert.equal(actual, encode(schema), `seed ${seed}: kept as it is`)
        seen.accepted++
      } else {
        assert.ok(Array.isArray(actual), `seed ${seed}: refused`)
        assert.deepEqual(ourPaths(actual), dshSchemaPaths(expected), `seed ${seed}: ${encode(schema)}`)
        seen.refused++
      }
    }
    assert.ok(seen.accepted > 300 && seen.refused > 300, JSON.stringify(seen))
  })

  it('finds the violations of arguments that DSH finds, at the same places', () => {
    const seen = { valid: 0, invalid: 0 }
    for (let seed = 0; seed < 1500; seed++) {
      const random = new Random(seed)
      const schema = rooted(random, subsetSchema)
      if (dshRefusal(schema) !== undefined) continue
      const text = encode(schema)
      const parsed = JSON.parse(text) as JsonSchemaNode
      for (const value of random.list(6, () => valueFor(random, schema))) {
        const json = encode(value)
        const expected = dshValuePaths(validateJsonSchemaValue(parsed, JSON.parse(json), ''))
        const actual = ourPaths(checkToolArguments(text, 'strict', json))
        assert.deepEqual(actual, expected, `seed ${seed}: ${json} against ${text}`)
        seen[expected.length === 0 ? 'valid' : 'invalid']++
      }
    }
    assert.ok(seen.valid > 500 && seen.invalid > 500, JSON.stringify(seen))
  })
})

/** Schemas as generators write them: lists of types, combinators, references, annotations, some true constraints. */
function fieldSchema(random: Random, depth: number): Json {
  if (random.chance(1, 40)) return random.chance(3, 4)
  const schema: JsonObject = {}
  if (random.chance(1, 6)) schema.format = 'email'
  if (random.chance(1, 6)) schema.deprecated = true
  if (random.chance(1, 6)) schema['x-order'] = 1
  if (random.chance(1, 25)) Object.assign(schema, random.pick([{ minLength: 2 }, { minimum: 1 }, { maxItems: 1 }, { minProperties: 1 }]))
  if (random.chance(1, 15)) Object.assign(schema, random.pick([{ minLength: 0 }, { uniqueItems: false }, { multipleOf: 1 }, { propertyNames: true }]))
  if (random.chance(1, 12)) schema.enum = ['x', ...random.some(['y', 1, 2.5, null, true, { a: 1 }].slice(0, random.pick([5, 5, 6])))]
  if (random.chance(1, 20)) schema.const = random.pick(['x', 1, null])
  if (random.chance(1, 10)) return { $ref: random.pick(['#/$defs/text', '#/$defs/pair', '#/$defs/list']), description: 'there' }
  const types = ['object', 'string', 'integer', 'number', 'boolean', 'null', 'array']
  if (random.chance(4, 5)) schema.type = random.chance(1, 4) ? [random.pick(types), random.pick(types)] : random.pick(types)
  if (depth > 0) {
    if (random.chance(1, 4)) schema.items = fieldSchema(random, depth - 1)
    if (random.chance(1, 2)) {
      const names = random.some(NAMES)
      schema.properties = Object.fromEntries(names.map(name => [name, fieldSchema(random, depth - 1)]))
      if (random.chance(1, 2)) schema.required = random.some(random.chance(1, 4) ? NAMES : names)
      if (random.chance(1, 3)) schema.additionalProperties = random.pick<Json>([true, false, {}, false])
    }
    for (const key of ['anyOf', 'oneOf', 'allOf']) {
      if (random.chance(1, 7)) schema[key] = random.list(random.pick([1, 2, 2, 3]), () => fieldSchema(random, depth - 1))
    }
  }
  return schema
}

const DEFINITIONS: JsonObject = {
  text: { type: 'string', description: 'some text' },
  pair: { type: 'object', properties: { a: { $ref: '#/$defs/text' }, b: { type: ['integer', 'null'] } }, required: ['a'] },
  list: { type: 'array', items: { $ref: '#/$defs/pair' } },
}

describe('schemas from the field (X8)', () => {
  it('are rewritten to accept exactly the same arguments, or refused', () => {
    const seen = { rewritten: 0, refused: 0, valid: 0, invalid: 0 }
    for (let seed = 0; seed < 500; seed++) {
      const random = new Random(seed)
      const schema: JsonObject = { $schema: 'https://json-schema.org/draft/2020-12/schema', ...rooted(random, fieldSchema), $defs: DEFINITIONS }
      const text = encode(schema)
      const reading = ourReading(schema, 'normalize')
      if (Array.isArray(reading)) {
        seen.refused++
        continue
      }
      seen.rewritten++
      const rewritten = JSON.parse(reading) as JsonSchemaNode
      assert.equal(dshRefusal(rewritten), undefined, `seed ${seed}: DSH accepts what we make of ${text}`)
      // An oracle of another house; `format` asserts nothing by default, as we read it.
      const oracle = new Ajv2020({ strict: false, validateSchema: false, validateFormats: false, logger: false }).compile(schema)
      for (const value of random.list(12, () => valueFor(random, schema))) {
        const json = encode(value).replaceAll('-0', '0') // which no schema can tell from 0, and DSH never accepts
        const expected = oracle(JSON.parse(json)) as boolean
        const context: string = `seed ${seed}: ${json} against ${text}, rewritten ${reading}`
        assert.equal(validateJsonSchemaValue(rewritten, JSON.parse(json)).length === 0, expected, context)
        assert.equal(checkToolArguments(text, 'normalize', json).length === 0, expected, context)
        seen[expected ? 'valid' : 'invalid']++
      }
    }
    assert.ok(seen.rewritten > 100 && seen.refused > 100 && seen.valid > 500 && seen.invalid > 500, JSON.stringify(seen))
  })

  it('keep their violations when they cannot be enforced', () => {
    const schema = { type: 'object', properties: { a: { type: 'string', minLength: 1 }, b: { not: {} } } }
    assert.deepEqual(ourReading(schema, 'normalize'), [
      'schema.properties.a.minLength: cannot be enforced',
      'schema.properties.b.not: cannot be enforced',
    ])
    assert.deepEqual(ourReading(schema, 'strict'), [
      'schema.properties.a.minLength: is a keyword that DSH does not enforce',
      'schema.properties.b.not: is a keyword that DSH does not enforce',
    ])
  })
})

describe('a set of browser Tools (G11)', () => {
  const tool = (name: string, parameters?: object) => ({ name, description: `Tool ${name}`, ...parameters && { parameters } })
  const refusal = (tools: unknown, limits = {}, taken: string[] = []) => {
    try {
      new BrowserToolSet(limits).replace(JSON.stringify(tools), taken)
    } catch (error) {
      assert.ok(error instanceof Error)
      const { code, status } = error as unknown as { code: string, status: number }
      return [code, status]
    }
    return 'accepted'
  }

  it('refuses with the codes and statuses of the gateway', () => {
    const deep = JSON.parse(`${'{"a":'.repeat(16)}{}${'}'.repeat(16)}`) as object
    assert.deepEqual(refusal([tool('no spaces')]), ['INVALID_FRONTEND_TOOL_NAME', 400])
    assert.deepEqual(refusal([tool('ag_ui_update_state')]), ['RESERVED_FRONTEND_TOOL_NAME', 400])
    assert.deepEqual(refusal([tool('a'), tool('a')]), ['DUPLICATE_FRONTEND_TOOL', 400])
    assert.deepEqual(refusal([{ name: 'a', description: ' ' }]), ['INVALID_FRONTEND_TOOL', 400])
    assert.deepEqual(refusal({}), ['INVALID_FRONTEND_TOOL', 400])
    assert.deepEqual(refusal([tool('a', deep)]), ['TOOL_SCHEMA_TOO_DEEP', 413])
    assert.deepEqual(refusal([tool('a', [])]), ['INVALID_FRONTEND_TOOL_SCHEMA', 400])
    assert.deepEqual(refusal([tool('a')], {}, ['z', 'a', 'b']), ['FRONTEND_TOOL_NAME_COLLISION', 409])
    assert.deepEqual(refusal([tool('a'), tool('b')], { maxTools: 1 }), ['TOOL_LIMIT_EXCEEDED', 413])
    const accents = [{ name: 'a', description: 'éé' }]
    const maxToolBytes = Buffer.byteLength(JSON.stringify(accents))
    assert.deepEqual(refusal(accents, { maxToolBytes }), 'accepted')
    assert.deepEqual(refusal(accents, { maxToolBytes: maxToolBytes - 1 }), ['TOOL_LIMIT_EXCEEDED', 413])
    assert.deepEqual(refusal([tool('a', { $schema: 's', type: 'object' })], { toolSchemas: 'strict' }), ['INVALID_FRONTEND_TOOL_SCHEMA', 400])
    assert.equal(refusal([tool('a', { $schema: 's', type: 'object' })]), 'accepted')
  })

  it('says what a Host must change', () => {
    const none = new BrowserToolSet()
    const first = none.replace(JSON.stringify([tool('keep'), tool('change'), tool('drop')]), [])
    const second = first.replace(JSON.stringify([tool('add'), tool('change', { type: 'object', title: 'new' }), tool('keep')]), [])
    assert.deepEqual(first.names, ['keep', 'change', 'drop'])
    assert.deepEqual(second.changesFrom(first), {
      unregister: ['change', 'drop'],
      register: [
        { name: 'add', description: 'Tool add', parameters: '{"type":"object","properties":{}}' },
        { name: 'change', description: 'Tool change', parameters: '{"type":"object","title":"new"}' },
      ],
    })
    assert.deepEqual(second.changesFrom(second), { unregister: [], register: [] })
    assert.deepEqual(none.changesFrom(first).unregister, ['keep', 'change', 'drop'])
    assert.deepEqual(second.without('add').names, ['change', 'keep'])
    assert.equal(second.collision(['x', 'keep']), 'keep')
    assert.equal(second.collision(['x']), null)
  })

  it('checks arguments', () => {
    const set = new BrowserToolSet().replace(JSON.stringify([tool('a', { properties: { n: { type: 'integer' } } })]), [])
    assert.deepEqual(set.check('a', '{"n":1}'), [])
    assert.deepEqual(set.check('a', '{"n":"1"}'), ['n: must be of type integer'])
    assert.deepEqual(set.check('a', ''), [])
    assert.deepEqual(set.check('b', '{}'), ['arguments: there is no browser Tool "b"'])
  })
})
