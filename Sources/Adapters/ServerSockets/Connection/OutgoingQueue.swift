/// The bytes queued for one client. A frame for many clients is shared, not copied.
struct OutgoingQueue {
  /// The oldest chunk. Most queues have no other, and so need no list.
  private var head: [UInt8] = []
  /// The later chunks, which begin at `first`.
  private var chunks: [[UInt8]] = []
  private var first = 0
  /// The number of consumed bytes of `head`.
  private var taken = 0
  /// The number of queued bytes.
  private(set) var byteCount = 0

  var isEmpty: Bool { byteCount == 0 }

  mutating func append(_ bytes: [UInt8]) {
    guard !bytes.isEmpty else { return }
    if isEmpty { head = bytes } else { chunks.append(bytes) }
    byteCount += bytes.count
  }

  /// Copies the oldest bytes without removing them. Returns the number of copied bytes.
  func copy(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    var filled = unsafe Self.copy(head[taken...], into: buffer)
    for chunk in chunks[first...] where filled < buffer.count {
      let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
      filled += unsafe Self.copy(chunk[...], into: rest)
    }
    return filled
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
    byteCount -= count
    guard byteCount > 0 else {
      self = OutgoingQueue()
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
