func first(_ bytes: [UInt8]) -> UInt8? {
  let slice = bytes[...]
  let span = slice.span
  return span.isEmpty ? nil : span[0]
}
