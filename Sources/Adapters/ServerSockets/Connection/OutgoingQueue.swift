/// The bytes queued for one client. A frame for many clients is shared, not copied.
struct OutgoingQueue {
  private var chunks: [[UInt8]] = []
  private var first = 0
  private var taken = 0
  /// The number of queued bytes.
  private(set) var byteCount = 0

  var isEmpty: Bool { byteCount == 0 }

  mutating func append(_ bytes: [UInt8]) {
    guard !bytes.isEmpty else { return }
    chunks.append(bytes)
    byteCount += bytes.count
  }

  /// Copies the oldest bytes without removing them. Returns the number of copied bytes.
  func copy(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    var filled = 0
    var skipped = taken
    for chunk in chunks[first...] {
      guard filled < buffer.count else { break }
      let count = min(chunk.count - skipped, buffer.count - filled)
      unsafe chunk.withUnsafeBytes { bytes in
        let target = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
        unsafe target.copyMemory(from: .init(rebasing: bytes[skipped..<skipped + count]))
      }
      filled += count
      skipped = 0
    }
    return filled
  }

  /// Removes the oldest bytes. An empty queue uses no memory.
  mutating func consume(_ count: Int) {
    byteCount -= count
    guard byteCount > 0 else {
      self = OutgoingQueue()
      return
    }
    taken += count
    while taken >= chunks[first].count {
      taken -= chunks[first].count
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
