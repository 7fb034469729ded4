/**
 * Which URIs a browser is sent to.
 *
 * @module
 */

/** An absolute HTTP or HTTPS URI as a browser reads it, or nothing. */
export function webUrl(text: string): URL | undefined {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return undefined
  const url = new URL(text)
  return url.protocol === 'http:' || url.protocol === 'https:' ? url : undefined
}
