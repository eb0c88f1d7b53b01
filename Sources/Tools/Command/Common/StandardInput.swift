import Dispatch
import Glibc
import OwnerFiles

/// Standard input, read only as elements are requested; the rest stays in the pipe.
///
/// Each element has a bound of its own, so memory is bounded too.
struct StandardInput<Element: Sendable>: AsyncSequence {
  private let asked = DispatchSemaphore(value: 0)
  private let given: AsyncStream<Element>

  /// - Parameter source: blocks until there is input; called once for each requested element.
  init(_ source: some IteratorProtocol<Element> & Sendable) {
    let (given, continuation) = AsyncStream.makeStream(of: Element.self)
    self.given = given
    // A queue of its own: a read may block for ever, and nothing waits for it to end.
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
  /// Its number, from 1.
  var number: Int
  /// Its length without the line break.
  var bytes: Int
  /// Its text; empty for a line that is too long, `nil` for one that is not UTF-8.
  var text: String?
}

/// The lines of standard input; the last one may lack a line break.
struct InputLines: IteratorProtocol, Sendable {
  /// The longest line in bytes; the text of a longer one is not kept.
  let longest: Int
  private var keys = InputKeys()
  private var piece: ArraySlice<UInt8> = []
  private var number = 0

  init(longest: Int) {
    self.longest = longest
  }

  mutating func next() -> InputLine? {
    var kept: [UInt8] = []
    var bytes = 0
    var isWhole = false
    var wasReturn = false
    while !isWhole {
      if piece.isEmpty {
        guard let next = keys.next() else { break }
        piece = next
      }
      let end = piece.firstIndex(of: UInt8(ascii: "\n"))
      let part = piece[..<(end ?? piece.endIndex)]
      bytes += part.count
      wasReturn = part.last.map { $0 == UInt8(ascii: "\r") } ?? wasReturn
      kept = bytes > longest + 1 ? [] : kept + part
      piece = end.map { piece[($0 + 1)...] } ?? []
      isWhole = end != nil
    }
    guard isWhole || bytes > 0 else { return nil }
    number += 1
    // The line breaks of some systems and protocols are CR LF.
    if isWhole, bytes > 0, wasReturn { bytes -= 1 }
    if kept.count > bytes { kept.removeLast() }
    return InputLine(number: number, bytes: bytes, text: String(validating: kept, as: UTF8.self))
  }
}

/// The available bytes of standard input, at least one; ends at its end or after an error.
struct InputKeys: IteratorProtocol, Sendable {
  mutating func next() -> ArraySlice<UInt8>? {
    var piece = [UInt8](repeating: 0, count: 4_096)
    while true {
      let count = unsafe SystemCall.read(STDIN_FILENO, &piece, piece.count)
      if count > 0 { return piece[..<count] }
      guard count < 0, errno == EAGAIN else { return nil }
      // Another process that shares the terminal or pipe has made it non-blocking.
      SystemCall.wait(for: Int32(POLLIN), on: STDIN_FILENO)
    }
  }
}
