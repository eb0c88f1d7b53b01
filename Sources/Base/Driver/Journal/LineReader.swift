import HoldfastCore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#elseif canImport(Darwin)
  import Darwin
#endif

/// A reader of lines. It reads a file in chunks, so the file can have any size.
struct LineReader: ~Copyable {
  /// A line of a file.
  struct Line: Equatable {
    var bytes: [UInt8]
    var number: Int
    /// Whether the line ends with a newline. It is false for text after the last newline.
    var isWhole: Bool
  }

  /// The maximum size of a line in bytes. The default is several times the size of the largest
  /// step.
  let longest: Int

  let path: String
  /// Whether the file grows while it is read. Text after the last newline is then not returned, and
  /// a call after the end looks for more.
  private let follows: Bool
  private let descriptor: CInt
  private var buffer: [UInt8] = []
  private var start = 0
  private var number = 0
  private var isAtEnd = false

  init(
    path: String, longest: Int = 16 << 20, follows: Bool = false
  ) throws(JournalError) {
    self.path = path
    self.longest = longest
    self.follows = follows
    descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw .cannot("open", path) }
  }

  deinit {
    close(descriptor)
  }

  /// Returns the next line; `nil` at the end of the file, even if the file ends with a newline.
  mutating func next() throws(JournalError) -> Line? {
    var searched = start
    while true {
      if let end = buffer[searched...].firstIndex(of: UInt8(ascii: "\n")) {
        guard end - start <= longest else { break }
        defer { start = end + 1 }
        return line(upTo: end, isWhole: true)
      }
      searched = buffer.count
      guard searched - start <= longest else { break }
      guard !isAtEnd else {
        isAtEnd = !follows
        guard !follows else { return nil }
        guard start < buffer.count else { return nil }
        defer { start = buffer.count }
        return line(upTo: buffer.count, isWhole: false)
      }
      searched -= try fill()
    }
    throw JournalError(path: path, line: number + 1, .tooLong)
  }

  private mutating func line(upTo end: Int, isWhole: Bool) -> Line {
    number += 1
    return Line(bytes: Array(buffer[start..<end]), number: number, isWhole: isWhole)
  }

  /// Reads more bytes. Returns the distance by which the unread bytes moved towards the front.
  private mutating func fill() throws(JournalError) -> Int {
    let moved = start
    buffer.removeFirst(moved)
    start = 0
    var piece = [UInt8](repeating: 0, count: 1 << 16)
    var count: Int
    repeat {
      count = unsafe piece.withUnsafeMutableBytes {
        unsafe read(descriptor, $0.baseAddress, $0.count)
      }
    } while count < 0 && errno == EINTR
    guard count >= 0 else { throw .cannot("read", path) }
    isAtEnd = count == 0
    buffer += piece[..<count]
    return moved
  }
}
