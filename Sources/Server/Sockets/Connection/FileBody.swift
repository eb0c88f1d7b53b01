import Glibc

/// The body of a response: a part of an open file, or bytes in memory.
///
/// The server reads a file in pieces as the client accepts them, so a slow client holds no memory. The
/// part must not change while it is sent. If it cannot be read completely, the connection ends. The
/// file is closed with the last reference.
public final class FileBody: Sendable {
  private let descriptor: Int32
  /// The bytes of the part; `nil` if they are in the file.
  private let content: [UInt8]?
  /// The part of the file.
  let range: Range<Int>

  /// Creates a body from a descriptor, which it owns from now on.
  public init(owning descriptor: Int32, _ range: Range<Int>) {
    (self.descriptor, self.range, content) = (descriptor, range, nil)
  }

  /// Creates a body from the bytes of a part of something that is not a file. If only its length is
  /// sent, the bytes may be missing.
  public init(_ content: [UInt8], at range: Range<Int>) {
    (descriptor, self.range, self.content) = (-1, range, content)
  }

  /// The number of bytes of the part.
  public var count: Int { range.count }

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  /// Reads bytes at an offset of the file up to the end of the part. Returns their number; `nil` if
  /// they cannot be read.
  func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) -> Int? {
    var filled = 0
    let count = min(buffer.count, range.upperBound - offset)
    if let content {
      let start = offset - range.lowerBound
      guard start + count <= content.count else { return nil }
      unsafe buffer.copyBytes(from: content[start..<start + count])
      return count
    }
    while filled < count {
      let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[filled..<count])
      let done = unsafe pread(descriptor, rest.baseAddress, rest.count, off_t(offset + filled))
      if done < 0, errno == EINTR { continue }
      guard done > 0 else { return nil }
      filled += done
    }
    return filled
  }

  /// Reads the part once, so that it is in the system's cache. Returns false if it cannot be read.
  public func load() -> Bool {
    let size = min(range.count, SocketHub.scratchBytes)
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 16)
    defer { unsafe buffer.deallocate() }
    var offset = range.lowerBound
    while offset < range.upperBound {
      guard let count = unsafe read(at: offset, into: buffer) else { return false }
      offset += count
    }
    return true
  }
}
