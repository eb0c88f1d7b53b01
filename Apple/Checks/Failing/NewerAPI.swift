// fails: 'span' is only available in iOS 26
// fails on macos: 'span' is only available in macOS 26
// fails on watchos: 'span' is only available in watchOS 26
func first(_ bytes: [UInt8]) -> UInt8? {
  let span = bytes.span
  return span.isEmpty ? nil : span[0]
}
