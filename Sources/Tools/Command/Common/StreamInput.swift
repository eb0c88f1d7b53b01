import Dispatch

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Standard input, read as far as it is asked for: what nobody wants yet stays in the pipe.
///
/// One loop reads it. What is read at one go has a bound of its own, so that memory has one.
struct StreamInput<Element: Sendable>: AsyncSequence {
  private let asked = DispatchSemaphore(value: 0)
  private let given: AsyncStream<Element>

  /// - Parameter source: waits for what is there; is asked once for each element that is wanted.
  init(_ source: some IteratorProtocol<Element> & Sendable) {
    let (given, continuation) = AsyncStream.makeStream(of: Element.self)
    self.given = given
    // A queue of its own: reading may take for ever, and nothing waits for its end.
    DispatchQueue(label: "holdfast.command.input").async { [asked] in
      var source = source
      while true {
        asked.wait()
        guard let element = source.next() else { return continuation.finish() }
        continuation.yield(element)
      }
    }
  }

  func makeAsyncIterator() -> Iterator {
    Iterator(asked: asked, given: given.makeAsyncIterator())
  }

  struct Iterator: AsyncIteratorProtocol {
    fileprivate let asked: DispatchSemaphore
    fileprivate var given: AsyncStream<Element>.Iterator

    mutating func next() async -> Element? { await next(isolation: nil) }

    mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
      asked.signal()
      return await given.next(isolation: actor)
    }
  }
}

/// A line of standard input.
struct InputLine: Sendable {
  /// A message has at most 10,000 characters of 4 bytes; of a longer line nothing is kept.
  static let longest = 40_000

  /// Counted from 1.
  var number: Int
  /// Without its end.
  var bytes: Int
  /// Empty when it is too long.
  var text: String

  /// Why no server takes it as a message; `nil` for one that may do.
  var fault: String? {
    let words =
      bytes > Self.longest
      ? "it has \(bytes) bytes, and a message has at most \(Self.longest)"
      : StreamText.fault(of: text)
    return words.map { "line \(number) was not sent: \($0)" }
  }
}

/// Each line to come, and the last one without an end too.
struct InputLines: IteratorProtocol, Sendable {
  private var keys = InputKeys()
  private var piece: ArraySlice<UInt8> = []
  private var number = 0

  mutating func next() -> InputLine? {
    var kept: [UInt8] = []
    var bytes = 0
    var isWhole = false
    while !isWhole {
      if piece.isEmpty {
        guard let next = keys.next() else { break }
        piece = next
      }
      let end = piece.firstIndex(of: UInt8(ascii: "\n"))
      let part = piece[..<(end ?? piece.endIndex)]
      bytes += part.count
      kept = bytes > InputLine.longest ? [] : kept + part
      piece = end.map { piece[($0 + 1)...] } ?? []
      isWhole = end != nil
    }
    guard isWhole || bytes > 0 else { return nil }
    number += 1
    return InputLine(number: number, bytes: bytes, text: String(decoding: kept, as: UTF8.self))
  }
}

/// What is there, at least a byte; ends with the input, or when it cannot be read.
struct InputKeys: IteratorProtocol, Sendable {
  mutating func next() -> ArraySlice<UInt8>? {
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
      if count < 0, errno == EAGAIN {
        // Whoever shares the terminal or pipe has made it non-blocking.
        var waiting = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        _ = unsafe poll(&waiting, 1, -1)
      } else if count == 0 || errno != EINTR {
        return nil
      }
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
      guard bytes.count < InputLine.longest else { return nil }
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
