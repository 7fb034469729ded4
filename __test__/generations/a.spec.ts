import { conformance } from './conformance.ts'

conformance('A')
