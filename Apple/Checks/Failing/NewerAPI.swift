// fails: 'span' is only available in
func first(_ bytes: [UInt8]) -> UInt8? {
  let span = bytes.span
  return span.isEmpty ? nil : span[0]
}
