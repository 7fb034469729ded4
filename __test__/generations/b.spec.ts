import { conformance } from './conformance.ts'

conformance('B')
