import Dispatch

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Standard input, line by line.
enum StreamInput {
  /// A message has at most 10,000 characters of 4 bytes; what is longer is cut there.
  private static let maxBytes = 40_000

  /// The lines to come; ends with the input, or when it cannot be read.
  static func lines() -> AsyncStream<String> {
    let (stream, continuation) = AsyncStream.makeStream(of: String.self)
    // A queue of its own: reading a terminal may take for ever.
    DispatchQueue(label: "holdfast.command.input").async {
      var line: [UInt8] = []
      while let piece = read() {
        for byte in piece {
          if byte == UInt8(ascii: "\n") || line.count >= maxBytes {
            continuation.yield(String(decoding: line, as: UTF8.self))
            line = []
          }
          if byte != UInt8(ascii: "\n") { line.append(byte) }
        }
      }
      if !line.isEmpty { continuation.yield(String(decoding: line, as: UTF8.self)) }
      continuation.finish()
    }
    return stream
  }

  /// What is there, at least a byte; `nil` at the end.
  static func read() -> ArraySlice<UInt8>? {
    var piece = [UInt8](repeating: 0, count: 4_096)
    while true {
      let count = unsafe piece.withUnsafeMutableBytes {
        #if canImport(Glibc)
          unsafe Glibc.read(STDIN_FILENO, $0.baseAddress, $0.count)
        #else
          unsafe Darwin.read(STDIN_FILENO, $0.baseAddress, $0.count)
        #endif
      }
      if count > 0 { return piece[..<count] }
      if count == 0 || errno != EINTR { return nil }
    }
  }
}
