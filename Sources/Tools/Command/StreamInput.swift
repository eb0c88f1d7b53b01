import Dispatch

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Standard input as it comes.
enum StreamInput {
  /// A message has at most 10,000 characters of 4 bytes; a longer line goes on as the next.
  static let longestLine = 40_000

  /// Each line to come; ends with the input, or when it cannot be read.
  static func lines() -> AsyncStream<String> {
    let (stream, continuation) = AsyncStream.makeStream(of: String.self)
    DispatchQueue(label: "holdfast.command.input").async {
      var line: [UInt8] = []
      while let piece = read() {
        for byte in piece {
          let isEnd = byte == UInt8(ascii: "\n")
          if isEnd || line.count >= longestLine {
            continuation.yield(String(decoding: line, as: UTF8.self))
            line = []
          }
          if !isEnd { line.append(byte) }
        }
      }
      if !line.isEmpty { continuation.yield(String(decoding: line, as: UTF8.self)) }
      continuation.finish()
    }
    return stream
  }

  /// What is typed, as soon as it is there; ends as `lines` does.
  static func keys() -> AsyncStream<[UInt8]> {
    let (stream, continuation) = AsyncStream.makeStream(of: [UInt8].self)
    // A queue of its own: reading a terminal may take for ever.
    DispatchQueue(label: "holdfast.command.input").async {
      while let piece = read() { continuation.yield(Array(piece)) }
      continuation.finish()
    }
    return stream
  }

  /// What is there, at least a byte; `nil` at the end.
  private static func read() -> ArraySlice<UInt8>? {
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

/// The line that is being typed: what a terminal's own editing would do, and no more.
struct StreamEditor {
  /// As far as it is typed.
  private(set) var draft = ""
  private var bytes: [UInt8] = []
  private var escape = Escape.none

  /// How far an escape sequence is read (ECMA-48 section 5.4); arrows and the like are ignored.
  private enum Escape { case none, begun, sequence }

  /// What a key asks for beyond a change of the draft.
  enum Request: Equatable {
    case send(String)
    case end
  }

  mutating func type(_ byte: UInt8) -> Request? {
    switch (escape, byte) {
    case (.begun, UInt8(ascii: "[")), (.begun, UInt8(ascii: "O")): escape = .sequence
    case (.sequence, 0x20..<0x40): break
    case (.begun, _), (.sequence, _): escape = .none
    case (.none, 0x1B): escape = .begun
    case (.none, 0x0A), (.none, 0x0D):
      defer { replace(with: "") }
      return draft.contains { !$0.isWhitespace } ? .send(draft) : nil
    case (.none, 0x04): return bytes.isEmpty ? .end : nil
    case (.none, 0x08), (.none, 0x7F): replace(with: String(draft.dropLast()))
    case (.none, 0x15): replace(with: "")
    case (.none, 0x17): dropWord()
    case (.none, 0..<0x20): break
    case (.none, _):
      guard bytes.count < StreamInput.longestLine else { return nil }
      bytes.append(byte)
      draft = String(decoding: bytes, as: UTF8.self)
    }
    return nil
  }

  private mutating func dropWord() {
    let end = draft.lastIndex { !$0.isWhitespace } ?? draft.startIndex
    let start = draft[..<end].lastIndex { $0.isWhitespace }.map { draft.index(after: $0) }
    replace(with: String(draft[..<(start ?? draft.startIndex)]))
  }

  private mutating func replace(with text: String) {
    draft = text
    bytes = Array(text.utf8)
  }
}
