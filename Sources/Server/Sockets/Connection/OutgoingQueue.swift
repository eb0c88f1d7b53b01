/// The bytes queued for one client. A frame for many clients is shared, not copied.
struct OutgoingQueue {
  /// The oldest chunk. Most queues have no other, and so need no list.
  private var head: [UInt8] = []
  /// The later chunks, which begin at `first`.
  private var chunks: [[UInt8]] = []
  private var first = 0
  /// The number of consumed bytes of `head`.
  private var taken = 0
  /// The number of queued bytes in memory.
  private(set) var byteCount = 0
  /// The rest of a file, which follows the bytes.
  private var file: FileRest?

  var isEmpty: Bool { byteCount == 0 && file == nil }

  /// Whether the queue contains a file.
  var hasFile: Bool { file != nil }

  /// A file of which the bytes up to `next` were consumed.
  private final class FileRest {
    let body: FileBody
    var next: Int

    init(_ body: FileBody) { (self.body, next) = (body, body.range.lowerBound) }
  }

  /// Appends the last part of a response. Nothing is appended until it was consumed.
  mutating func append(_ body: FileBody) {
    if !body.range.isEmpty { file = FileRest(body) }
  }

  mutating func append(_ bytes: [UInt8]) {
    guard !bytes.isEmpty else { return }
    if byteCount == 0 { head = bytes } else { chunks.append(bytes) }
    byteCount += bytes.count
  }

  /// Copies the oldest bytes without removing them. Returns the number of copied bytes; `nil` if the
  /// file cannot be read.
  func copy(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
    var filled = unsafe Self.copy(head[taken...], into: buffer)
    for chunk in chunks[first...] {
      guard filled < buffer.count else { break }
      let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
      filled += unsafe Self.copy(chunk[...], into: rest)
    }
    guard let file, filled < buffer.count else { return filled }
    let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
    return unsafe file.body.read(at: file.next, into: rest).map { filled + $0 }
  }

  private static func copy(
    _ chunk: ArraySlice<UInt8>, into buffer: UnsafeMutableRawBufferPointer
  ) -> Int {
    let count = min(chunk.count, buffer.count)
    unsafe buffer.copyBytes(from: chunk.prefix(count))
    return count
  }

  /// Removes the oldest bytes. An empty queue uses no memory.
  mutating func consume(_ count: Int) {
    let fromMemory = min(count, byteCount)
    byteCount -= fromMemory
    guard byteCount > 0 else {
      file?.next += count - fromMemory
      let rest = file.flatMap { $0.next < $0.body.range.upperBound ? $0 : nil }
      self = OutgoingQueue()
      file = rest
      return
    }
    taken += count
    while taken >= head.count {
      taken -= head.count
      head = chunks[first]
      chunks[first] = []
      first += 1
    }
    compact()
  }

  /// Removes the consumed chunks once they number more than 32 and make up more than half of all.
  private mutating func compact() {
    guard first > 32, first > chunks.count / 2 else { return }
    chunks.removeFirst(first)
    first = 0
  }
}
